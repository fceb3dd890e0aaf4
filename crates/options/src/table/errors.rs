//! Which errors end a job.

use super::{Kind, Opt, Set, word};
use crate::draft::{Ctx, Draft};
use crate::value::{Value, list};

/// Errors.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new("continue_on_error", Kind::Word, "Errors after which the job goes on")
        .at("General", "Error handling")
        .words(&[word("none", "stop"), word("read", "read errors"), word("write", "write errors"), word("io", "read and write errors"), word("verify", "verify errors"), word("all", "all of them"), word("0", "none"), word("1", "all")])
        .default("none")
        .sets(Set::Run(continue_on_error)),
    Opt::new("ignore_error", Kind::Custom, "Errors not counted at all: READ,WRITE,VERIFY lists separated by ',', entries of a list by ':'")
        .at("General", "Error handling")
        .parent("rw")
        .sets(Set::Run(ignore_error)),
    Opt::new("error_dump", Kind::Bool, "Print each error")
        .at("General", "Error handling")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.errors.dump)),
];

fn continue_on_error(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.errors.continue_on = match value.word() {
        0 | 6 => [false; 3],
        1 => [true, false, false],
        2 => [false, true, false],
        3 => [true, true, false],
        4 => [false, false, true],
        _ => [true; 3],
    };
    Ok(())
}

/// A list that is not empty also makes its class of errors continue.
fn ignore_error(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    for (class, codes) in list::errors(&value.text())?.into_iter().enumerate() {
        if !codes.is_empty() {
            draft.spec.errors.continue_on[class] = true;
            draft.spec.errors.codes[class] = Some(codes);
        }
    }
    Ok(())
}
