//! Tests for each user and each tier, side by side, each with a name of its own.

use proc_macro::{TokenStream, TokenTree};

const USERS: [(&str, &str); 2] = [("superuser", "Superuser"), ("ordinary", "Ordinary")];
const TIERS: [(&str, &str); 2] = [("full", "Full"), ("landlock_only", "LandlockOnly")];

const WHO: &str = "::pinfold_tests::Who::";
const TIER: &str = "::pinfold_tests::Tier::";

/// Makes tests of a function: one for each user, for each tier, or for each user on each tier.
///
/// What cannot be tried on this machine is said to be left out.
///
/// ```
/// #[each(user, tier)]
/// fn nothing_is_written_outside(who: Who, tier: Tier) { … }
///
/// // nothing_is_written_outside::superuser_full
/// // nothing_is_written_outside::superuser_landlock_only
/// // nothing_is_written_outside::ordinary_full
/// // nothing_is_written_outside::ordinary_landlock_only
/// ```
#[proc_macro_attribute]
pub fn each(over: TokenStream, function: TokenStream) -> TokenStream {
    let tests = match (over.to_string().replace(' ', "").as_str(), name(function.clone())) {
        (_, None) => "compile_error!(\"`each` makes tests of a function\");".to_owned(),
        ("user", Some(name)) => {
            module(&name, USERS.map(|(user, who)| test(user, &format!("{WHO}{who}"), "try_as", &name)))
        }
        ("tier", Some(name)) => {
            module(&name, TIERS.map(|(word, tier)| test(word, &format!("{TIER}{tier}"), "try_on", &name)))
        }
        ("user,tier", Some(name)) => {
            let pairs = USERS.iter().flat_map(|user| TIERS.iter().map(move |tier| (user, tier)));
            let tests = pairs.map(|((user, who), (word, tier))| {
                test(&format!("{user}_{word}"), &format!("{WHO}{who}, {TIER}{tier}"), "try_as_on", &name)
            });
            module(&name, tests)
        }
        _ => "compile_error!(\"`each` is over `user`, `tier`, or `user, tier`\");".to_owned(),
    };
    let mut all = function;
    all.extend(tests.parse::<TokenStream>().unwrap_or_default());
    all
}

/// The name of a function: the word behind `fn`.
fn name(function: TokenStream) -> Option<String> {
    let mut tokens = function.into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"))?;
    tokens.next().map(|name| name.to_string())
}

fn module(name: &str, tests: impl IntoIterator<Item = String>) -> String {
    format!("mod {name} {{ {} }}", tests.into_iter().collect::<String>())
}

fn test(name: &str, arguments: &str, way: &str, function: &str) -> String {
    format!("#[test] fn {name}() {{ ::pinfold_tests::each::{way}({arguments}, super::{function}); }}")
}
