//! The clock of a run: nanoseconds since the program's start, from the CPU's counter where that
//! is sound.
//!
//! Reading the counter costs about half of a vDSO call. It is used when the processor says that
//! it is invariant, the kernel trusts it (its clock source is built on it), and its speed agrees
//! with the system clock; otherwise every reading is `clock_gettime(CLOCK_MONOTONIC)`. The speed
//! is the kernel's own where it tells (`perf_event_mmap_page`), else measured against the system
//! clock over the time that passes anyway between [`Clock::start`] and [`Clock::settle`].

use std::time::Duration;

use ferrio_options::ClockSource;

/// Bits behind the point of the ticks-to-nanoseconds factor.
const FACTOR_SHIFT: u32 = 32;
/// Shortest span over which the counter is compared with the system clock.
const COMPARE_SPAN_NS: u64 = 1_000_000;
/// Largest difference of speed between counter and system clock, in parts of a thousand.
const TOLERATED_PER_MILLE: u64 = 5;

/// A reading of both clocks at one instant.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    monotonic_ns: u64,
}

impl Anchor {
    /// The best of a few readings: the one in which the system clock took the fewest ticks.
    fn take() -> Anchor {
        let mut best = Anchor {
            ticks: 0,
            monotonic_ns: 0,
        };
        let mut narrowest = u64::MAX;
        for _ in 0..8 {
            let before = counter::read();
            let monotonic_ns = monotonic_ns();
            let width = counter::read().wrapping_sub(before);
            if width < narrowest {
                narrowest = width;
                best = Anchor {
                    ticks: before + width / 2,
                    monotonic_ns,
                };
            }
        }
        best
    }
}

/// A started clock whose source is not chosen yet.
#[derive(Debug)]
pub struct Starting {
    anchor: Anchor,
}

/// Nanoseconds since the program's start. Copies agree with each other, in other processes too.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Anchor,
    /// Nanoseconds per tick with [`FACTOR_SHIFT`] bits behind the point; 0 reads the system
    /// clock.
    factor: u64,
}

impl Clock {
    /// Takes the first reading. Call this as early as possible.
    pub fn start() -> Starting {
        Starting {
            anchor: Anchor::take(),
        }
    }

    /// Now, in nanoseconds since the program's start.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        if self.factor != 0 {
            let ticks = counter::read().wrapping_sub(self.anchor.ticks);
            ((u128::from(ticks) * u128::from(self.factor)) >> FACTOR_SHIFT) as u64
        } else {
            monotonic_ns().wrapping_sub(self.anchor.monotonic_ns)
        }
    }

    /// Seconds and nanoseconds of an instant as they are embedded in data.
    pub fn stamp(&self, at_ns: u64) -> (u64, u64) {
        let at_ns = if self.factor != 0 {
            at_ns
        } else {
            at_ns.wrapping_add(self.anchor.monotonic_ns)
        };
        (at_ns / 1_000_000_000, at_ns % 1_000_000_000)
    }
}

impl Starting {
    /// Chooses the source. Spins for what is missing of a millisecond since the start.
    pub fn settle(self, wanted: Option<ClockSource>) -> Clock {
        let system = Clock {
            anchor: self.anchor,
            factor: 0,
        };
        let permitted = matches!(wanted, None | Some(ClockSource::Cpu));
        if !permitted || !counter::invariant() || !kernel_trusts_counter() {
            return system;
        }
        let mut now = Anchor::take();
        while now.monotonic_ns.wrapping_sub(self.anchor.monotonic_ns) < COMPARE_SPAN_NS {
            std::hint::spin_loop();
            now = Anchor::take();
        }
        let ticks = now.ticks.wrapping_sub(self.anchor.ticks);
        let elapsed_ns = now.monotonic_ns - self.anchor.monotonic_ns;
        let Some(measured) = (u128::from(elapsed_ns) << FACTOR_SHIFT).checked_div(ticks.into())
        else {
            return system;
        };
        let measured = measured as u64;
        let factor = counter::kernel_factor().unwrap_or(measured);
        if factor == 0 || factor.abs_diff(measured) > measured / 1000 * TOLERATED_PER_MILLE {
            return system;
        }
        Clock {
            anchor: self.anchor,
            factor,
        }
    }
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Wall clock in milliseconds since 1970.
pub fn wall_clock_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO).as_millis() as u64
}

/// The kernel's clock source is the counter or a paravirtual clock computed from it.
fn kernel_trusts_counter() -> bool {
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(file).unwrap_or_default();
    matches!(
        source.trim(),
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter"
    )
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use super::FACTOR_SHIFT;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has this instruction; it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    /// CPUID leaf 0x80000007, EDX bit 8: the counter runs at one speed in all power states.
    pub(super) fn invariant() -> bool {
        use core::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }

    /// The kernel's own conversion, from the page of a dummy software event
    /// (`perf_event_open(2)`, `cap_user_time`). `None` where events are forbidden.
    pub(super) fn kernel_factor() -> Option<u64> {
        const ATTR_SIZE_VER0: u32 = 64;
        const TYPE_SOFTWARE: u32 = 1;
        const CONFIG_DUMMY: u64 = 9;
        /// `exclude_kernel` and `exclude_hv`: what an unprivileged user may count.
        const USER_ONLY: u64 = 1 << 5 | 1 << 6;
        const CAP_USER_TIME: u64 = 1 << 3;
        #[repr(C)]
        struct Attr {
            kind: u32,
            size: u32,
            config: u64,
            unused: [u64; 3],
            flags: u64,
            rest: [u64; 2],
        }
        const _: () = assert!(size_of::<Attr>() == ATTR_SIZE_VER0 as usize);
        let attr = Attr {
            kind: TYPE_SOFTWARE,
            size: ATTR_SIZE_VER0,
            config: CONFIG_DUMMY,
            unused: [0; 3],
            flags: USER_ONLY,
            rest: [0; 2],
        };
        // SAFETY: `attr` has the size that it states; no other memory is passed.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, 0, -1, -1, 0) };
        if fd < 0 {
            return None;
        }
        let len = rustix::param::page_size();
        // SAFETY: a new read-only mapping of the event's page; the result is checked.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                fd as i32,
                0,
            )
        };
        // SAFETY: the descriptor is ours and not used again.
        unsafe { libc::close(fd as i32) };
        if page == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the offsets are those of `struct perf_event_mmap_page`, all inside one page
        // and aligned for their types.
        let (capabilities, shift, mult) = unsafe {
            let base = page.cast::<u8>();
            (
                base.add(40).cast::<u64>().read_volatile(),
                base.add(50).cast::<u16>().read_volatile(),
                base.add(52).cast::<u32>().read_volatile(),
            )
        };
        // SAFETY: the mapping is ours; no reference into it is left.
        unsafe { libc::munmap(page, len) };
        if capabilities & CAP_USER_TIME == 0 || mult == 0 || u32::from(shift) > FACTOR_SHIFT {
            return None;
        }
        Some(u64::from(mult) << (FACTOR_SHIFT - u32::from(shift)))
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    use super::FACTOR_SHIFT;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        let ticks: u64;
        // SAFETY: Linux lets user space read the virtual counter; no memory is touched.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }

    /// The architecture's counter runs at one speed by definition.
    pub(super) fn invariant() -> bool {
        true
    }

    /// The architecture states the frequency.
    pub(super) fn kernel_factor() -> Option<u64> {
        let frequency: u64;
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("mrs {}, cntfrq_el0", out(reg) frequency, options(nomem, nostack));
        }
        (1_000_000_000u64 << FACTOR_SHIFT).checked_div(frequency)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn invariant() -> bool {
        false
    }

    pub(super) fn kernel_factor() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_agree_and_never_go_back() {
        for wanted in [None, Some(ClockSource::ClockGetTime)] {
            let clock = Clock::start().settle(wanted);
            let system = monotonic_ns();
            let first = clock.now_ns();
            std::thread::sleep(Duration::from_millis(20));
            let span = clock.now_ns() - first;
            let system_span = monotonic_ns() - system;
            assert!(span <= system_span, "{span} inside {system_span}");
            assert!(span >= 19_900_000, "{span} ns of a sleep of 20 ms");
        }
    }
}
