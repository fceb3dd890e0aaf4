//! The progress line.

use ferrio_stats::Progress;

use crate::number::{Unit, is_binary, scaled};

/// Digit budget of the current rates.
const RATE_DIGITS: u32 = 4;

/// Renders one progress line over the other, so that no rest of a longer one stays visible.
#[derive(Clone, Debug, Default)]
pub struct ProgressLine {
    /// Characters of the line that the terminal shows, padding excluded.
    shown_len: usize,
    /// A percentage other than dashes has been shown.
    percent_shown: bool,
    /// The next line begins on a new line of the terminal.
    on_new_line: bool,
}

impl ProgressLine {
    /// Lets the next line begin on a new line of the terminal (`--eta-newline`).
    pub fn break_line(&mut self) {
        self.on_new_line = true;
    }

    /// The line for `progress`; it ends with a carriage return.
    ///
    /// States, share done, rates and remaining time show only while the remaining time is known
    /// and jobs run.
    pub fn render(&mut self, progress: &Progress) -> String {
        let mut line = format!("Jobs: {} (f={})", progress.running, progress.files);
        line += &limits(progress);
        let known = progress.eta_s.is_some() || progress.endless;
        let detailed = known && progress.running > 0;
        if detailed {
            line += &format!(
                ": [{}][{}]{}[eta {}]",
                condensed(&progress.states),
                self.percent(progress),
                rates(progress),
                remaining(progress),
            );
        }
        let len = line.chars().count();
        if detailed {
            line += &" ".repeat(self.shown_len.saturating_sub(len));
            self.shown_len = len;
        } else {
            // Not padded: what an older, longer line left stays until a detailed one comes.
            self.shown_len = self.shown_len.max(len);
        }
        line.push('\r');
        if std::mem::take(&mut self.on_new_line) {
            line.insert(0, '\n');
        }
        line
    }

    fn percent(&mut self, progress: &Progress) -> String {
        const DASHES: &str = "-.-%";
        let Some(remaining) = progress.eta_s.filter(|_| !progress.endless) else {
            return DASHES.into();
        };
        if progress.all_in_ramp || (remaining == 0 && !self.percent_shown) {
            return DASHES.into();
        }
        self.percent_shown = true;
        let elapsed = progress.elapsed_s as f64;
        let mut percent = match elapsed + remaining as f64 {
            0.0 => 0.0,
            whole => 100.0 * elapsed / whole,
        };
        if progress.setting_up > 0 {
            let set_up = f64::from(progress.setting_up) / f64::from(progress.running);
            percent *= (1.0 - set_up).max(0.0);
        }
        format!("{percent:.1}%")
    }
}

/// Rates asked for: bytes per second if any is set, else operations per second.
fn limits(progress: &Progress) -> String {
    if let Some((min, max)) = progress.rate_limits {
        let (digits, binary) = (progress.significant_figures, is_binary(progress.kb_base));
        let rate = |value| scaled(value, digits, 1, binary, Unit::BytesPerSecond);
        return format!(", {}-{}", rate(min), rate(max));
    }
    match progress.iops_limits {
        Some((min, max)) => format!(", {min}-{max} IOPS"),
        None => String::new(),
    }
}

/// State letters with equal neighbours counted: `R(2),P(1)`.
fn condensed(states: &[char]) -> String {
    let runs = states.chunk_by(|a, b| a == b);
    let runs: Vec<String> = runs
        .map(|run| format!("{}({})", run[0], run.len()))
        .collect();
    runs.join(",")
}

/// Current bandwidth and IOPS of the directions that have any.
fn rates(progress: &Progress) -> String {
    let (mut rate, mut iops) = (progress.rate, progress.iops);
    if progress.unified {
        rate = [rate.iter().sum(), 0, 0];
        iops = [iops.iter().sum(), 0, 0];
    }
    let unit = Unit::of_bandwidth(progress.unit_base);
    let binary = is_binary(progress.kb_base);
    let (mut bandwidths, mut operations) = (Vec::new(), Vec::new());
    for (index, letter) in ["r", "w", "t"].into_iter().enumerate() {
        if rate[index] == 0 && iops[index] == 0 {
            continue;
        }
        let bandwidth = scaled(rate[index] / 1024, RATE_DIGITS, 1024, binary, unit);
        bandwidths.push(format!("{letter}={bandwidth}"));
        let count = scaled(iops[index], RATE_DIGITS, 1, false, Unit::None);
        operations.push(format!("{letter}={count}"));
    }
    if bandwidths.is_empty() {
        return String::new();
    }
    format!("[{}][{} IOPS]", bandwidths.join(","), operations.join(","))
}

/// Remaining time as days, hours, minutes, seconds; days and hours only where needed.
fn remaining(progress: &Progress) -> String {
    let Some(total_s) = progress.eta_s.filter(|_| !progress.endless) else {
        return "--".into();
    };
    let (minutes, seconds) = (total_s / 60 % 60, total_s % 60);
    let (days, hours) = (total_s / 86_400, total_s / 3600 % 24);
    let short = format!("{minutes:02}m:{seconds:02}s");
    match (days, hours) {
        (0, 0) => short,
        (0, _) => format!("{hours:02}h:{short}"),
        _ => format!("{days:02}d:{hours:02}h:{short}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Progress {
        Progress {
            running: 5,
            files: 5,
            states: "RwwdRP".chars().collect(),
            elapsed_s: 3,
            eta_s: Some(99_997),
            rate: [819_200, 819_200, 204_800],
            iops: [200, 200, 50],
            iops_limits: Some((0, 550)),
            kb_base: 1024,
            unit_base: 8,
            significant_figures: 4,
            ..Progress::default()
        }
    }

    fn once(progress: &Progress) -> String {
        ProgressLine::default().render(progress)
    }

    #[test]
    fn all_parts() {
        assert_eq!(
            once(&sample()),
            "Jobs: 5 (f=5), 0-550 IOPS: [R(1),w(2),d(1),R(1),P(1)][0.0%]\
             [r=800KiB/s,w=800KiB/s,t=200KiB/s][r=200,w=200,t=50 IOPS][eta 01d:03h:46m:37s]\r"
        );
    }

    #[test]
    fn unknown_remaining_time_shows_the_head_only() {
        let progress = Progress {
            running: 2,
            files: 2,
            eta_s: None,
            rate_limits: Some((0, 6 << 20)),
            ..sample()
        };
        assert_eq!(once(&progress), "Jobs: 2 (f=2), 0B/s-6144KiB/s\r");
        let idle = Progress {
            running: 0,
            files: 0,
            iops_limits: None,
            ..sample()
        };
        assert_eq!(once(&idle), "Jobs: 0 (f=0)\r");
    }

    #[test]
    fn ramp_and_unknown_progress_show_dashes() {
        let ramp = Progress {
            running: 1,
            files: 0,
            states: vec!['/'],
            all_in_ramp: true,
            eta_s: Some(2),
            rate: [0; 3],
            iops: [0; 3],
            iops_limits: None,
            ..sample()
        };
        assert_eq!(once(&ramp), "Jobs: 1 (f=0): [/(1)][-.-%][eta 00m:02s]\r");
        let endless = Progress {
            endless: true,
            all_in_ramp: false,
            ..ramp
        };
        assert_eq!(once(&endless), "Jobs: 1 (f=0): [/(1)][-.-%][eta --]\r");
        assert_eq!(
            once(&Progress {
                eta_s: None,
                ..endless
            }),
            "Jobs: 1 (f=0): [/(1)][-.-%][eta --]\r"
        );
    }

    #[test]
    fn nothing_left_is_dashes_until_a_share_was_shown() {
        let mut line = ProgressLine::default();
        let last = Progress {
            elapsed_s: 5,
            eta_s: Some(0),
            ..sample()
        };
        assert!(line.render(&last).contains("[-.-%]"));
        assert!(
            line.render(&Progress {
                eta_s: Some(1),
                ..last.clone()
            })
            .contains("[83.3%]")
        );
        assert!(line.render(&last).contains("[100.0%]"));
    }

    #[test]
    fn jobs_in_setup_lower_the_share() {
        let half = Progress {
            elapsed_s: 3,
            eta_s: Some(2),
            setting_up: 2,
            running: 4,
            ..sample()
        };
        assert!(once(&half).contains("[30.0%]"));
    }

    #[test]
    fn shorter_lines_cover_longer_ones() {
        let mut line = ProgressLine::default();
        let long = Progress {
            eta_s: Some(4_294_967_294),
            ..sample()
        };
        let first = line.render(&long);
        assert!(first.ends_with("[eta 49710d:06h:28m:14s]\r"));
        let second = line.render(&sample());
        assert!(second.ends_with("[eta 01d:03h:46m:37s]   \r"));
        assert_eq!(first.len(), second.len());
        // Padding does not count as text.
        assert!(line.render(&sample()).ends_with("37s]\r"));
        line.render(&Progress {
            eta_s: None,
            ..sample()
        });
        assert!(
            line.render(&Progress {
                states: vec!['R'],
                ..sample()
            })
            .ends_with("    \r")
        );
    }

    #[test]
    fn a_new_line_begins_once() {
        let mut line = ProgressLine::default();
        line.break_line();
        assert!(line.render(&sample()).starts_with("\nJobs: 5"));
        assert!(line.render(&sample()).starts_with("Jobs: 5"));
    }

    #[test]
    fn unified_rates_show_as_reads() {
        let unified = Progress {
            unified: true,
            ..sample()
        };
        assert!(once(&unified).contains("[r=1800KiB/s][r=450 IOPS]"));
        let bits = Progress {
            unit_base: 1,
            kb_base: 1000,
            ..unified
        };
        assert!(once(&bits).contains("[r=14.4Mbit/s]"));
    }

    #[test]
    fn a_direction_with_operations_only_is_listed() {
        let slow = Progress {
            rate: [0, 100, 0],
            iops: [0, 0, 3],
            ..sample()
        };
        assert!(once(&slow).contains("[w=0KiB/s,t=0KiB/s][w=0,t=3 IOPS]"));
    }
}
