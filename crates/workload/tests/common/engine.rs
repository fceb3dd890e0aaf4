//! An engine that does nothing, and the worker loop around a stream.

use std::collections::VecDeque;

use ferrio_options::JobSpec;
use ferrio_workload::geometry::Plan;
use ferrio_workload::{FileEvents, Next, Op, OpKind, OpStream};

/// One line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Open(u32),
    Close(u32),
    Op(Op),
}

/// Records what happens to the files.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
}

impl FileEvents for Recorder {
    fn open(&mut self, file: u32) -> bool {
        self.events.push(Event::Open(file));
        true
    }
    fn close(&mut self, _file: u32) {}
    fn closing(&mut self, file: u32) {
        self.events.push(Event::Close(file));
    }
    fn invalidate(&mut self, _file: u32) {}
}

/// The word of an operation in a trace.
pub(crate) fn word(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Fsync => "sync",
        OpKind::Fdatasync => "datasync",
        OpKind::SyncFileRange => "sync_file_range",
    }
}

/// Slots and what they carry.
struct Slots {
    free: Vec<usize>,
    unmarked: Vec<bool>,
    in_flight: VecDeque<(usize, Op)>,
    completed: [u64; 3],
    pass_bytes: u64,
}

impl Slots {
    fn reap(&mut self, stream: &mut OpStream) {
        let Some((slot, op)) = self.in_flight.pop_front() else {
            return;
        };
        stream.completed(&op);
        self.unmarked[slot] = false;
        self.free.push(slot);
        if let Some(direction) = op.kind.direction() {
            self.completed[direction as usize] += op.len;
            self.pass_bytes += op.len;
        }
    }

    fn reap_all(&mut self, stream: &mut OpStream) {
        while !self.in_flight.is_empty() {
            self.reap(stream);
        }
    }
}

/// What moves the data.
pub(crate) trait Device {
    /// A pass after the first starts.
    fn next_pass(&mut self);
    /// An operation is issued from a slot.
    fn issue(&mut self, slot: usize, op: &Op);
}

/// No data.
impl Device for () {
    fn next_pass(&mut self) {}
    fn issue(&mut self, _slot: usize, _op: &Op) {}
}

/// All events of a job, or those up to `op_limit` operations. They complete in order,
/// one whenever the queue is full.
pub(crate) fn run(
    job: &JobSpec,
    plan: &Plan,
    op_limit: usize,
    device: &mut impl Device,
) -> Result<Vec<Event>, String> {
    let depth = job.queue.depth as usize;
    let synchronous = job.engine.synchronous(job.queue.depth);
    let mut stream = OpStream::new(job, plan, synchronous).map_err(|error| error.to_string())?;
    let mut recorder = Recorder::default();
    let mut slots = Slots {
        free: (0..depth).collect(),
        unmarked: vec![false; depth],
        in_flight: VecDeque::new(),
        completed: [0; 3],
        pass_bytes: 0,
    };
    let mut ops = 0;
    let mut first = true;
    while stream.begin_pass(slots.completed, &mut recorder) {
        slots.pass_bytes = 0;
        if !std::mem::replace(&mut first, false) {
            device.next_pass();
        }
        while stream.pass_goes_on() && ops < op_limit {
            let Some(slot) = slots.free.pop() else {
                return Err(String::from("no free slot"));
            };
            match stream.next(&mut slots.unmarked[slot], &mut recorder) {
                Next::Op(op) => {
                    recorder.events.push(Event::Op(op));
                    ops += 1;
                    device.issue(slot, &op);
                    stream.issued(&op, !synchronous);
                    slots.in_flight.push_back((slot, op));
                }
                Next::Busy => {
                    slots.free.push(slot);
                    slots.reap(&mut stream);
                    continue;
                }
                Next::End => {
                    slots.free.push(slot);
                    break;
                }
            }
            if synchronous || slots.in_flight.len() == depth {
                slots.reap(&mut stream);
            }
        }
        slots.reap_all(&mut stream);
        if ops >= op_limit {
            return Ok(recorder.events);
        }
        let end = stream.end_pass(slots.pass_bytes, &mut recorder);
        if let Some(error) = end.error {
            return Err(error.to_string());
        }
        for file in end.sync_files {
            let closed = !stream.is_open(file);
            if closed {
                recorder.events.push(Event::Open(file));
            }
            recorder.events.push(Event::Op(Op {
                kind: OpKind::Fsync,
                file,
                offset: end.sync_offset,
                len: 0,
            }));
            if closed {
                recorder.events.push(Event::Close(file));
            }
        }
    }
    stream.close_all(&mut recorder);
    Ok(recorder.events)
}
