//! The option table against the specification's table.

use serde_json::Value as Json;

use super::text;
use crate::common::{FakeHost, errors, parse_words, status};
use crate::table::{self, Kind, Opt, Scope};
use crate::value;

fn specification() -> Vec<Json> {
    let json: Json =
        serde_json::from_str(include_str!("../../tests/data/options.json")).expect("table");
    json.as_array().expect("a list").clone()
}

/// Options that ferrio has and fio has not.
const OWN: &[&str] = &["iolog_version"];

fn all() -> Vec<&'static Opt> {
    let profiles = table::PROFILE_OPTIONS.iter();
    let engines = table::ENGINE_OPTIONS.iter().copied();
    table::JOB_OPTIONS
        .iter()
        .copied()
        .chain(engines)
        .chain(profiles)
        .collect()
}

#[test]
fn every_option_of_the_specification_has_its_entry() {
    let options = all();
    let specification = specification();
    assert_eq!(specification.len(), 412);
    assert_eq!(options.len(), 412 + OWN.len());
    for entry in &specification {
        let scope = match &entry["scope"] {
            Json::Array(names) => names
                .iter()
                .map(|n| n.as_str().unwrap_or_default())
                .collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        let name = text(entry, "name");
        let opt = options
            .iter()
            .find(|opt| opt.name == name && in_scope(opt, &scope))
            .unwrap_or_else(|| panic!("{name} {scope:?} is missing"));
        let aliases: Vec<&str> = entry["aliases"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        assert_eq!(opt.aliases, aliases, "{name}");
        assert_eq!(opt.default, entry["default"].as_str(), "{name}");
        assert_eq!(opt.parent, entry["parent"].as_str(), "{name}");
        assert_eq!(
            i64::from(opt.priority),
            entry["parse_priority"].as_i64().unwrap_or(0),
            "{name}"
        );
        let words: Vec<&str> = entry["values"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|word| text(word, "name"))
            .collect();
        let own: Vec<&str> = opt.words.iter().map(|word| word.name).collect();
        assert_eq!(own, words, "{name}");
        if !matches!(opt.kind, Kind::Bool | Kind::Flag) {
            let bound = |key: &str| entry[key].as_f64().unwrap_or(0.0);
            if bound("min") != 0.0 {
                assert_eq!(opt.min.map(|min| min as f64), Some(bound("min")), "{name}");
            }
            if bound("max") != 0.0 && bound("max") < 4_294_967_295.0 {
                assert_eq!(opt.max.map(|max| max as f64), Some(bound("max")), "{name}");
            }
        }
    }
}

fn in_scope(opt: &Opt, scope: &[&str]) -> bool {
    match opt.scope {
        Scope::Job => scope.is_empty(),
        Scope::Engines(engines) => engines == scope,
        Scope::Profile(profile) => scope == [format!("profile:{profile}").as_str()],
    }
}

#[test]
fn main_options_stand_in_the_specified_order() {
    let specification = specification();
    let names: Vec<&str> = specification
        .iter()
        .filter(|entry| entry["scope"] == "job")
        .map(|entry| text(entry, "name"))
        .collect();
    let own = table::JOB_OPTIONS.iter().map(|opt| opt.name);
    let own: Vec<&str> = own.filter(|name| !OWN.contains(name)).collect();
    assert_eq!(own, names);
}

#[test]
fn every_default_is_a_good_value() {
    for opt in all() {
        if let Some(default) = opt.default.filter(|default| !default.is_empty()) {
            let value = value::parse(opt, Some(default.as_bytes()), 1024);
            assert!(value.is_ok(), "{}: {value:?}", opt.name);
        }
    }
}

#[test]
fn options_without_effect_of_their_own_name_options() {
    for opt in all() {
        if let table::Built::NoUnless(others) = opt.built {
            for other in others {
                let known = table::find(other).is_some()
                    || table::ENGINE_OPTIONS.iter().any(|opt| opt.name == *other);
                assert!(known, "{}: {other}", opt.name);
            }
        }
    }
}

/// A bare name has a meaning or is refused with its line; nothing else happens.
#[test]
fn bare_names_are_accepted_or_refused() {
    for opt in all() {
        let engine = match opt.scope {
            Scope::Engines(engines) => engines[0],
            _ => "null",
        };
        let text = format!("[j]\nsize=1m\nioengine={engine}\n{}\n", opt.name);
        let host = FakeHost::default().with_file("j.fio", text);
        for words in [vec!["j.fio"], vec!["--parse-only", "j.fio"]] {
            let parsed = parse_words(&words, &host);
            if status(&parsed) != 0 {
                let told = errors(&parsed);
                let named = told.iter().any(|error| error.contains(opt.name));
                assert!(named && status(&parsed) == 1, "{}: {told:?}", opt.name);
            }
        }
    }
}
