//! From specifications and results to what the report crate takes.

use ferrio_options::{JobSpec, OutputSpec};
use ferrio_report::{Headline, RenderOptions};
use ferrio_stats::RunResult;

/// A job's headline.
pub(crate) fn headline(job: &JobSpec) -> Headline {
    let block = |direction: usize| {
        let block = &job.pattern.block[direction];
        (block.min, block.max)
    };
    Headline {
        name: job.name.clone(),
        group: job.group,
        rw: job.pattern.word(),
        block_bytes: [block(0), block(1), block(2)],
        seq_rand: job.pattern.seq_rand_sizes,
        engine: job.engine.name(),
        iodepth: job.queue.depth,
        kb_base: job.reporting.kb_base,
        significant_figures: job.reporting.significant_figures,
    }
}

/// The report in each format asked for: terse, JSON, normal, in this order.
pub(crate) fn documents(result: &RunResult, output: &OutputSpec) -> Vec<String> {
    let options = RenderOptions {
        terse_version: output.terse_version,
        json_bins: output.formats.json_bins,
        ..RenderOptions::default()
    };
    let mut texts = Vec::new();
    if output.formats.terse {
        texts.push(ferrio_report::terse(result, &options));
    }
    if output.formats.json {
        let document = ferrio_report::json(result, &options);
        texts.push(if output.formats.json_lines {
            one_line(&document)
        } else {
            document
        });
    }
    if output.formats.normal {
        texts.push(ferrio_report::normal(result, &options));
    }
    texts
}

/// A JSON document without its line ends: inside of strings there are none.
fn one_line(document: &str) -> String {
    let parts: Vec<&str> = document.lines().map(str::trim).collect();
    parts.join(" ").trim_end().to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_document_is_one_line() {
        assert_eq!(
            one_line("{\n  \"a\" : [\n    1\n  ]\n}\n"),
            "{ \"a\" : [ 1 ] }\n"
        );
    }
}
