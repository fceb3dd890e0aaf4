//! Zones and data placement.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Kind, Opt, Set, unbuilt_word, word};
use crate::draft::{Ctx, Draft, ZoneMode};
use crate::host::PathKind;
use crate::value::{Value, list};

/// Zones and data placement.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new("zonemode", Kind::Word, "Meaning of the zone options")
        .at("I/O", "Zone")
        .words(&[word("none", "no zones"), word("strided", "one zone at a time"), unbuilt_word("zbd", "zoned block device")])
        .default("none")
        .sets(Set::Run(zonemode)),
    Opt::new("zonesize", Kind::Size, "Bytes of I/O done in a zone before going on")
        .at("I/O", "Zone")
        .default("0")
        .sets(Set::U64(|d| &mut d.zoning.size)),
    Opt::new("zonecapacity", Kind::Size, "Usable bytes of a zone, for emulated zoned devices")
        .at("I/O", "Zone")
        .default("0")
        .unless(&["zonemode"]),
    Opt::new("zonerange", Kind::Size, "Span of one zone, strided mode")
        .at("I/O", "Zone")
        .default("0")
        .sets(Set::U64(|d| &mut d.zoning.range)),
    Opt::new("zoneskip", Kind::Amount, "Bytes (or zones) skipped after a zone")
        .at("I/O", "Zone")
        .default("0")
        .sets(Set::Run(zoneskip)),
    Opt::new("read_beyond_wp", Kind::Bool, "Let reads pass the write pointer of a zone")
        .at("I/O", "")
        .default("0")
        .unless(&["zonemode"]),
    Opt::new("max_open_zones", Kind::Int, "Limit of open write zones per device")
        .at("I/O", "")
        .default("0")
        .range(0, 4096)
        .unless(&["zonemode"]),
    Opt::new("job_max_open_zones", Kind::Int, "Limit of open write zones per job")
        .at("I/O", "")
        .default("0")
        .range(0, 4096)
        .unless(&["zonemode"]),
    Opt::new("ignore_zone_limits", Kind::Bool, "Do not ask the device for its zone limits")
        .at("I/O", "")
        .default("0")
        .unless(&["zonemode"]),
    Opt::new("zone_reset_threshold", Kind::Floats, "Ratio of written data from which zones get reset")
        .at("I/O", "Zone")
        .range(0, 1)
        .limit(1)
        .unless(&["zonemode"]),
    Opt::new("zone_reset_frequency", Kind::Floats, "How often the threshold is acted on, as a fraction of writes")
        .at("I/O", "Zone")
        .range(0, 1)
        .limit(1)
        .unless(&["zonemode"]),
    Opt::new("recover_zbd_write_error", Kind::Bool, "Repair the write pointer after a failed zone write and continue")
        .at("I/O", "Zone")
        .unless(&["zonemode"]),
    Opt::new("write_zone_remainder", Kind::Bool, "Fill the leftover of a zone with a short write")
        .at("I/O", "Zone")
        .unless(&["zonemode"]),
    Opt::new("fdp", Kind::Bool, "Use NVMe flexible data placement")
        .at("I/O", "")
        .default("0"),
    Opt::new("dataplacement", Kind::Word, "Data placement interface in use")
        .aka(&["data_placement"])
        .at("I/O", "")
        .words(&[word("none", "off"), word("fdp", "flexible data placement"), word("streams", "streams")])
        .default("none"),
    Opt::new("plid_select", Kind::Word, "How the next placement identifier is picked")
        .aka(&["fdp_pli_select"])
        .at("I/O", "")
        .words(&[word("random", "uniform"), word("roundrobin", "each in turn"), word("scheme", "by offset, from dp_scheme")])
        .default("roundrobin")
        .unless(&["fdp", "dataplacement"]),
    Opt::new("plids", Kind::Custom, "Placement identifiers in use; ',' list with A-B ranges, at most 128, each <= 65535, sorted")
        .aka(&["fdp_pli"])
        .at("I/O", "")
        .checks(plids)
        .unless(&["fdp", "dataplacement"]),
    Opt::new("dp_scheme", Kind::Text, "File that maps offsets to placement identifiers")
        .at("I/O", "")
        .limit(4096)
        .checks(dp_scheme)
        .unless(&["fdp", "dataplacement"]),
];

fn zonemode(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.zoning.mode = match value.word() {
        0 => ZoneMode::None,
        1 => ZoneMode::Strided,
        _ => ZoneMode::Zbd,
    };
    Ok(())
}

fn zoneskip(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Amount(quantity) = value {
        draft.zoning.skip.add(*quantity);
    }
    if draft.zoning.skip.zones > 0 {
        ctx.mark_unbuilt();
    }
    Ok(())
}

fn plids(_: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    list::placement_ids(&value.text()).map(|_| ())
}

fn dp_scheme(_: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    let path = Path::new(OsStr::from_bytes(value.bytes()));
    match ctx.host.kind(path) {
        PathKind::Regular => Ok(()),
        PathKind::Missing => Err(format!("there is no file '{}'", path.display())),
        _ => Err(format!("'{}' is not a regular file", path.display())),
    }
}
