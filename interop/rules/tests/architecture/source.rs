//! References of a crate's file to others: its imports, definitions, and paths.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{self, Token};

/// A module: its names from the crate's root on.
pub(crate) type Module = Vec<String>;

/// A path as it is written in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// Start of the path: the module that `crate`, `self` or `super` names; or, if none of them
    /// does, the file itself.
    pub(crate) from: Module,
    /// Whether `crate`, `self` or `super` named that module.
    pub(crate) anchored: bool,
    /// Names behind that module, from left to right.
    pub(crate) names: Vec<String>,
}

/// References of a file to others.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Names that `use` brings, with where they lead.
    pub(crate) imports: BTreeMap<String, Path>,
    /// Imports that have no name: `use a::b as _`.
    pub(crate) nameless: Vec<Path>,
    /// Modules of which `use` brings all names.
    pub(crate) globs: Vec<Path>,
    /// Items that are defined here.
    pub(crate) items: BTreeSet<String>,
    /// Macros that are defined here.
    pub(crate) macros: BTreeSet<String>,
    /// Paths of two names and more, outside of `use`.
    pub(crate) paths: Vec<Path>,
    /// Macros that are called by their bare names.
    pub(crate) called: BTreeSet<String>,
    /// Types that an inherent `impl` names, without generic arguments.
    pub(crate) extended: Vec<Path>,
}

/// Keywords behind which the name of an item stands.
const DEFINE: [&str; 9] =
    ["struct", "enum", "union", "trait", "type", "fn", "const", "static", "mod"];

/// Reads a file, whose module is `module`.
pub(crate) fn read(module: &Module, text: &str) -> Source {
    let tokens = tokens::of(text);
    let mut reader = Reader { module, tokens: &tokens, at: 0, depth: 0, inline: Vec::new() };
    let mut source = Source::default();
    while reader.at < tokens.len() {
        reader.step(&mut source);
    }
    source
}

struct Reader<'t> {
    module: &'t Module,
    tokens: &'t [Token],
    at: usize,
    depth: usize,
    /// Depths of the braces of modules that are written in this file.
    inline: Vec<usize>,
}

impl Reader<'_> {
    fn name(&self, ahead: usize) -> Option<&str> {
        self.tokens.get(self.at + ahead)?.name()
    }

    fn is(&self, ahead: usize, mark: char) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| token.is(mark))
    }

    fn joined(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead) == Some(&Token::Join)
    }

    fn before(&self, back: usize) -> Option<&Token> {
        self.tokens.get(self.at.checked_sub(back)?)
    }

    fn step(&mut self, source: &mut Source) {
        let Some(name) = self.name(0).map(str::to_owned) else {
            if self.is(0, '{') {
                self.depth += 1;
            } else if self.is(0, '}') {
                self.depth = self.depth.saturating_sub(1);
                self.inline.retain(|depth| *depth < self.depth);
            }
            self.at += 1;
            return;
        };
        if name == "use" {
            self.at += 1;
            let leading = self.joined(0);
            self.at += usize::from(leading);
            self.tree(&[], leading, source);
            return;
        }
        if name == "mod" && self.is(2, '{') {
            self.inline.push(self.depth);
        }
        if name == "macro_rules" && self.is(1, '!') {
            source.macros.extend(self.name(2).map(str::to_owned));
            self.at += 3;
            return;
        }
        if name == "impl" {
            source.extended.extend(self.inherent());
        }
        if DEFINE.contains(&name.as_str()) {
            source.items.extend(self.name(1).map(str::to_owned));
        }
        self.path(source);
    }

    /// A path that begins here, or a name alone.
    fn path(&mut self, source: &mut Source) {
        let begins = !matches!(self.before(1), Some(Token::Join));
        let field = self.before(1).is_some_and(|token| token.is('.'));
        let visibility = self.before(1).and_then(Token::name) == Some("in")
            && self.before(2).is_some_and(|token| token.is('('));
        let mut names = Vec::new();
        while let Some(name) = self.name(0).map(str::to_owned) {
            names.push(name);
            self.at += 1;
            if !self.joined(0) || self.name(1).is_none() {
                break;
            }
            self.at += 1;
        }
        if !begins || field || visibility {
            return;
        }
        if names.len() > 1 {
            source.paths.push(self.placed(names));
        } else if self.is(0, '!') {
            source.called.extend(names);
        }
    }

    /// The tree of a `use`, behind `prefix`.
    fn tree(&mut self, prefix: &[String], foreign: bool, source: &mut Source) {
        let mut names = prefix.to_vec();
        loop {
            if self.is(0, '{') {
                self.at += 1;
                while self.at < self.tokens.len() && !self.is(0, '}') {
                    self.tree(&names, foreign, source);
                    self.at += usize::from(self.is(0, ','));
                }
                self.at += 1;
                return;
            }
            if self.is(0, '*') {
                self.at += 1;
                if !foreign {
                    source.globs.push(self.placed(names));
                }
                return;
            }
            let Some(name) = self.name(0).map(str::to_owned) else {
                self.at += 1;
                return;
            };
            self.at += 1;
            if name != "self" || names.is_empty() {
                names.push(name);
            }
            if !self.joined(0) {
                break;
            }
            self.at += 1;
        }
        let mut called = names.last().cloned().unwrap_or_default();
        if self.name(0) == Some("as") {
            called = self.name(1).unwrap_or_default().to_owned();
            self.at += 2;
        }
        if foreign {
            return;
        }
        let path = self.placed(names);
        if called == "_" {
            source.nameless.push(path);
        } else {
            source.imports.insert(called, path);
        }
    }

    /// A path with the module that its first names lead to.
    fn placed(&self, names: Vec<String>) -> Path {
        let mut from = self.module.clone();
        let mut above = self.inline.len();
        let steps = names.iter().take_while(|name| is_step(name)).count();
        for name in &names[..steps] {
            match name.as_str() {
                "crate" => from.clear(),
                "super" if above > 0 => above -= 1,
                "super" => drop(from.pop()),
                _ => {}
            }
        }
        Path { from, anchored: steps > 0, names: names[steps..].to_vec() }
    }

    /// The type of an `impl` that has no trait.
    fn inherent(&self) -> Option<Path> {
        let mut at = self.at + 1;
        let mut open = 0_i32;
        let mut names: Vec<String> = Vec::new();
        while let Some(token) = self.tokens.get(at) {
            match token {
                Token::Mark('<') => open += 1,
                Token::Mark('>') if self.tokens[at - 1].is('-') => {}
                Token::Mark('>') => open -= 1,
                Token::Mark('{') if open == 0 => break,
                Token::Name(name) if open == 0 && name == "for" => return None,
                Token::Name(name) if open == 0 && name == "where" => break,
                Token::Name(name) if open == 0 => names.push(name.clone()),
                _ => {}
            }
            at += 1;
        }
        // `impl` as the type of an argument or a result is no item.
        let item = self.before(1).is_none_or(|t| t.is('}') || t.is(';') || t.is(']') || t.is('{'));
        (item && !names.is_empty()).then(|| self.placed(names))
    }
}

/// Whether a name of a path is a step to a module by its place.
fn is_step(name: &str) -> bool {
    ["crate", "self", "super"].contains(&name)
}
