//! Dependencies between the files of a crate.
//!
//! An arrow is a path that leads from one file to another: in `use`, in an expression, a type, a
//! macro; it may begin with `crate`, `self`, `super`, an imported name or a child module, and go
//! through re-exports, which count too. A macro that is called by its bare name leads to the file
//! that defines it. Calls of methods have no path: the type whose method it is has one, and
//! [`Crate::strangers`] finds methods that stand neither in its folder nor below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as Folder;

pub(crate) use super::source::Module;
use super::source::{self, Path, Source};

/// The files of a crate, each named by its module, with the files that it uses. The root of the
/// crate is no file here.
pub(crate) type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Re-exports that lead to re-exports are followed this often: imports may lead round in a circle.
const RE_EXPORTS: usize = 8;

/// The sources of a crate.
pub(crate) struct Crate {
    /// All files, with the root as the empty module.
    sources: BTreeMap<Module, Source>,
}

impl Crate {
    /// Reads all files below a crate's `src`, except for tests.
    pub(crate) fn read(src: &Folder) -> Self {
        let mut texts = Vec::new();
        let mut folders = vec![src.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                if name.ends_with("tests") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let inside = path.strip_prefix(src).expect("below src").with_extension("");
                    let names = inside.components();
                    let names = names.map(|name| name.as_os_str().to_string_lossy().into_owned());
                    texts.push((names.collect(), std::fs::read_to_string(&path).expect("text")));
                }
            }
        }
        Self::of(texts).without_test_modules()
    }

    /// Leaves out files that no file declares as its module: those are declared for tests alone.
    fn without_test_modules(mut self) -> Self {
        loop {
            let declared = |module: &Module| {
                let Some((name, above)) = module.split_last() else { return true };
                self.sources.get(above).is_none_or(|above| above.items.contains(name))
                    || above.is_empty() && name == "bin"
            };
            let kept: Vec<Module> =
                self.sources.keys().filter(|module| declared(module)).cloned().collect();
            let before = self.sources.len();
            self.sources.retain(|module, _| kept.contains(module));
            if self.sources.len() == before {
                return self;
            }
        }
    }

    /// A crate of these files; `lib` and `main` are its root.
    pub(crate) fn of(texts: impl IntoIterator<Item = (Module, String)>) -> Self {
        let place = |(mut module, text): (Module, String)| {
            if module == ["lib"] || module == ["main"] || module.last().is_some_and(|m| m == "mod")
            {
                module.pop();
            }
            let source = source::read(&module, &text);
            (module, source)
        };
        Self { sources: texts.into_iter().map(place).collect() }
    }

    /// Number of files of the crate, without its root.
    pub(crate) fn files(&self) -> usize {
        self.sources.keys().filter(|module| !module.is_empty()).count()
    }

    /// Dependencies between files: for each module those that it uses.
    pub(crate) fn uses(&self) -> Uses {
        let files = self.sources.iter().filter(|(module, _)| !module.is_empty());
        files.map(|(module, source)| (module.clone(), self.used(module, source))).collect()
    }

    fn used(&self, module: &Module, source: &Source) -> BTreeSet<Module> {
        let mut used = BTreeSet::new();
        let imported = source.imports.values().chain(&source.nameless).chain(&source.globs);
        for path in imported.chain(&source.paths) {
            self.follow(path, RE_EXPORTS, &mut used);
        }
        let defines = |other: &&Module| {
            source.called.iter().any(|name| self.sources[*other].macros.contains(name))
        };
        used.extend(self.sources.keys().filter(defines).cloned());
        used.remove(module);
        used.remove(&Module::new());
        used
    }

    /// Notes the files that a path leads to; the answer says whether it leads to any.
    fn follow(&self, path: &Path, re_exports: usize, used: &mut BTreeSet<Module>) -> bool {
        if !path.anchored && path.names.first().is_none_or(|name| !self.knows(&path.from, name)) {
            return false;
        }
        let mut at = path.from.clone();
        for (place, name) in path.names.iter().enumerate() {
            let mut below = at.clone();
            below.push(name.clone());
            if self.sources.contains_key(&below) {
                at = below;
                continue;
            }
            let Some(source) = self.sources.get(&at) else { break };
            if source.items.contains(name) || re_exports == 0 {
                break;
            }
            let behind = &path.names[place + 1..];
            let on = |to: &Path, names: &[String]| {
                let names = to.names.iter().chain(names).cloned().collect();
                Path { from: to.from.clone(), anchored: to.anchored, names }
            };
            if let Some(to) = source.imports.get(name).filter(|to| *to != path) {
                self.follow(&on(to, behind), re_exports - 1, used);
                break;
            }
            let named = &path.names[place..];
            for to in &source.globs {
                if self.has(&on(to, &[]), name) {
                    self.follow(&on(to, named), re_exports - 1, used);
                }
            }
            break;
        }
        used.insert(at);
        true
    }

    /// Whether the name is one of the file's own: a child module, an import, or an item.
    fn knows(&self, module: &Module, name: &str) -> bool {
        let below: Module =
            module.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
        let Some(source) = self.sources.get(module) else { return false };
        let own = self.sources.contains_key(&below)
            || source.imports.contains_key(name)
            || source.items.contains(name);
        own || source.globs.iter().any(|glob| self.has(glob, name))
    }

    /// Whether the module that a glob names has this name of its own.
    fn has(&self, glob: &Path, name: &str) -> bool {
        let at: Module = glob.from.iter().chain(&glob.names).cloned().collect();
        let mut below = at.clone();
        below.push(name.to_owned());
        let known =
            |source: &Source| source.items.contains(name) || source.imports.contains_key(name);
        glob.anchored
            && (self.sources.contains_key(&below) || self.sources.get(&at).is_some_and(known))
    }

    /// Files that import an item through the crate's root, with its name; `*` stands for all items
    /// of the root (`use crate::*`, `use crate as root`), whose names would be no paths through it.
    pub(crate) fn through_root(&self) -> Vec<(Module, String)> {
        let mut found = Vec::new();
        for (module, source) in self.sources.iter().filter(|(module, _)| !module.is_empty()) {
            for path in source.imports.values().chain(&source.nameless).chain(&source.paths) {
                let first = path.names.first().filter(|_| path.anchored && path.from.is_empty());
                let Some(first) = first else { continue };
                let macros = self.sources.values().any(|source| source.macros.contains(first));
                let part = self.sources.keys().any(|module| module.first() == Some(first));
                if !part && !macros {
                    found.push((module.clone(), first.clone()));
                }
            }
            let mut whole = source.globs.iter().chain(source.imports.values());
            if whole.any(|path| path.anchored && path.from.is_empty() && path.names.is_empty()) {
                found.push((module.clone(), "*".to_owned()));
            }
        }
        found
    }

    /// Files that use one of these paths of other crates, with the path: `["std", "fs"]` and all
    /// below it.
    pub(crate) fn using(&self, foreign: &[&[&str]]) -> Vec<(Module, String)> {
        let mut found = Vec::new();
        for (module, source) in &self.sources {
            let imported = source.imports.values().chain(&source.nameless).chain(&source.globs);
            for path in imported.chain(&source.paths).filter(|path| !path.anchored) {
                if foreign.iter().any(|one| {
                    path.names.iter().map(String::as_str).zip(*one).filter(|(a, b)| a == *b).count()
                        == one.len()
                }) {
                    found.push((module.clone(), path.names.join("::")));
                }
            }
        }
        found
    }

    /// Files with methods of a type that stands neither in their folder nor above them.
    pub(crate) fn strangers(&self) -> Vec<(Module, String)> {
        let mut found = Vec::new();
        for (module, source) in &self.sources {
            for path in &source.extended {
                let mut owners = BTreeSet::new();
                let Some(last) = path.names.last() else { continue };
                self.follow(path, RE_EXPORTS, &mut owners);
                let owns = |owner: &&Module| self.sources[*owner].items.contains(last);
                let is_at_home = |owner: &Module| {
                    let beside = owner.len() > 1 && module.starts_with(&owner[..owner.len() - 1]);
                    beside || module.starts_with(owner)
                };
                if owners.iter().find(owns).is_some_and(|owner| !is_at_home(owner)) {
                    found.push((module.clone(), last.clone()));
                }
            }
        }
        found
    }
}

/// Sets of files that use each other in a circle, apart from a module with files of its own folder:
/// those may use the module and it may use them, while two of them that use each other without it,
/// and files of several folders, are a circle.
pub(crate) fn circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let mut found = Vec::new();
    for circle in all_circles(uses) {
        let Some(module) = module_of(&circle) else {
            found.push(circle);
            continue;
        };
        let in_folder = |other: &&Module| circle.contains(*other) && *other != module;
        let folder = uses.iter().filter(|(file, _)| in_folder(file));
        let folder = folder.map(|(file, to)| (file, to.iter().filter(in_folder).collect()));
        let without_module = knots(&folder.collect());
        found.extend(without_module.into_iter().map(|knot| knot.into_iter().cloned().collect()));
    }
    found
}

/// The file of which all others stand in its own folder.
fn module_of(files: &BTreeSet<Module>) -> Option<&Module> {
    let is_in_folder = |file: &Module, module: &Module| file[..file.len() - 1] == module[..];
    files
        .iter()
        .find(|module| files.iter().all(|file| file == *module || is_in_folder(file, module)))
}

/// Sets of files that use each other in a circle, a module and the files of its own folder
/// included.
pub(crate) fn all_circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let within = uses.iter().map(|(module, to)| (module, to.iter().collect())).collect();
    knots(&within).into_iter().map(|circle| circle.into_iter().cloned().collect()).collect()
}

/// Every set of files in which each reaches each other.
fn knots<'m>(uses: &BTreeMap<&'m Module, Vec<&'m Module>>) -> BTreeSet<BTreeSet<&'m Module>> {
    let reached = |from: &'m Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for &to in uses.get(module).into_iter().flatten() {
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (*module, reached(module))).collect();
    let mut knots = BTreeSet::new();
    for (module, to) in &reached {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|its| its.contains(*module));
        let knot: BTreeSet<&Module> = to.iter().filter(back).copied().collect();
        if knot.len() > 1 {
            knots.insert(knot);
        }
    }
    knots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn sources(texts: &[(&str, &str)]) -> Crate {
        Crate::of(texts.iter().map(|(name, text)| (module(name), (*text).to_owned())))
    }

    fn of(uses: &Uses, name: &str) -> Vec<String> {
        uses[&module(name)].iter().map(|module| module.join("/")).collect()
    }

    fn found(texts: &[(&str, &str)]) -> Vec<Vec<String>> {
        let circles = circles(&sources(texts).uses());
        circles.iter().map(|circle| circle.iter().map(|m| m.join("/")).collect()).collect()
    }

    #[test]
    fn paths_lead_to_the_files_in_which_their_names_stand() {
        let uses = sources(&[
            ("a", "use self::b::{C, d::{E, F as G}};\nuse crate::{e, Root};"),
            ("a/b", "use super::*; // crate::e::Nothing\nfn f(e: crate::e::H) {}"),
            ("a/b/d", "use super::super::X;\n#[cfg(test)]\nmod tests {\nuse crate::e::I;\n}"),
            ("e", "/// Of [`crate::a::A`].\nstruct H;"),
        ])
        .uses();
        assert_eq!(of(&uses, "a"), ["a/b", "a/b/d", "e"]);
        assert_eq!(of(&uses, "a/b"), ["a", "e"]);
        assert_eq!(of(&uses, "a/b/d"), ["a"]);
        assert!(of(&uses, "e").is_empty());
    }

    #[test]
    fn an_arrow_is_seen_however_it_is_written() {
        let there =
            ("b", "mod deep;\npub use self::deep::{Renamed as Other, Thing};\npub mod inner { }");
        let deep =
            ("b/deep", "pub struct Thing;\npub struct Renamed;\nmacro_rules! made { () => {} }");
        let root = ("lib", "pub use b::Other as AtRoot;\nmod a;\nmod b;");
        for (text, expected) in [
            ("use crate::b::Thing;", &["b", "b/deep"][..]),
            ("use crate::b;\nfn f() { b::deep::g() }", &["b", "b/deep"]),
            ("use super::b::{self as c};\nfn f() -> c::Other { }", &["b", "b/deep"]),
            ("use crate::b::*;\nfn f(x: deep::Thing) {}", &["b", "b/deep"]),
            ("use crate::AtRoot;", &["b", "b/deep"]),
            ("mod x { use super::super::b::deep; }", &["b/deep"]),
            ("fn f() { made!() }", &["b/deep"]),
            ("macro_rules! n { () => { $crate::b::deep::g() } }", &["b/deep"]),
            ("use crate::b as _;", &["b"]),
            ("pub(in crate::b) fn f() {}", &[]),
            ("use ::b::deep::Thing;\nuse std::b::deep;\nfn f() { other::b::deep() }", &[]),
            ("const TEXT: &str = \"crate::b::Thing\"; // crate::b", &[]),
        ] {
            let uses = sources(&[("a", text), there, deep, root]).uses();
            assert_eq!(of(&uses, "a"), expected, "{text}");
        }
    }

    #[test]
    fn a_circle_is_found_however_many_files_it_has() {
        let all = [
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", "use crate::a::A;\nuse crate::d::D;"),
            ("d", ""),
        ];
        assert_eq!(found(&all), [["a", "b", "c"]]);
        assert!(found(&[("a", "use crate::b::B;"), ("b", "")]).is_empty());
    }

    #[test]
    fn a_circle_is_found_in_the_folder_of_a_module_and_not_with_that_module() {
        let head = ("a", "mod b;\nmod c;\nuse self::b::B;\nuse self::c::C;");
        let up = [head, ("a/b", "use super::A;"), ("a/c", "use super::A;\nuse super::b::B;")];
        assert!(found(&up).is_empty(), "a module and the files of its folder are one");
        let beside =
            [head, ("a/b", "use super::c::C;"), ("a/c", ""), ("a/c/d", "use crate::a::b::B;")];
        assert!(found(&beside).is_empty(), "`a/c` does not use `a/c/d`");
        let deep = [
            head,
            ("a/b", "use super::c::C;"),
            ("a/c", "use self::d::D;"),
            ("a/c/d", "use crate::a::b::B;"),
        ];
        assert_eq!(found(&deep), [["a/b", "a/c", "a/c/d"]]);
        let through_re_export =
            [("a", "pub use self::c::C;"), ("a/b", "use super::C;"), ("a/c", "use super::b::B;")];
        assert_eq!(found(&through_re_export), [["a/b", "a/c"]]);
    }

    #[test]
    fn a_circle_is_found_that_goes_through_the_folders_of_several_modules() {
        let (head, beside) = (("a", "use self::b::B;"), ("a/b", "use self::c::C;"));
        let two_up = [head, beside, ("a/b/c", "use crate::a::A;")];
        assert_eq!(found(&two_up), [["a", "a/b", "a/b/c"]]);
        let through_another = [
            ("a", "use self::b::B;\nuse self::d::D;"),
            beside,
            ("a/b/c", "use crate::a::d::D;"),
            ("a/d", "use super::A;"),
        ];
        assert_eq!(found(&through_another), [["a", "a/b", "a/b/c", "a/d"]]);
        let step_by_step =
            [head, ("a/b", "use self::c::C;\nuse super::A;"), ("a/b/c", "use super::B;")];
        assert_eq!(found(&step_by_step), [["a", "a/b", "a/b/c"]]);
        let apart = [
            head,
            ("a/b", "use self::c::C;"),
            ("a/b/c", "use super::B;\nuse crate::a::shared::Of;"),
            ("a/shared", ""),
        ];
        assert!(found(&apart).is_empty(), "the file that both need uses neither");
    }

    #[test]
    fn methods_stand_with_their_type_or_below_it() {
        let elsewhere = |texts: &[(&str, &str)]| sources(texts).strangers();
        let tx = ("tx/sender", "pub struct Sender;\nimpl Sender {}");
        let beside = ("tx/segmenter", "use super::sender::Sender;\nimpl Sender {}");
        let below = ("tx/sender/deep", "use crate::tx::sender::Sender;\nimpl<'a> Sender<'a> {}");
        let of_trait = ("event", "use crate::tx::sender::Sender;\nimpl From<Sender> for Event {}");
        assert!(elsewhere(&[("tx", ""), tx, beside, below, of_trait]).is_empty());
        let stranger = ("event", "use crate::tx::sender::Sender;\nimpl Sender { fn f() {} }");
        assert_eq!(
            elsewhere(&[("tx", ""), tx, stranger]),
            [(module("event"), "Sender".to_owned())]
        );
    }
}
