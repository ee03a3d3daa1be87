//! The resolver inside: a question in, an answer out. It tells names apart and reaches nobody.
//!
//! A name that may be reached, or asked about, gets its synthetic address; any other does not exist. Nothing of a query
//! goes further, so that no data leaves in names. Beside addresses there are no records: those that would let a client
//! encrypt the name of the server (HTTPS, SVCB) least of all, since the name is what is judged.

use std::str::FromStr as _;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, RData, Record, RecordType, rdata};
use pinfold_host::Name;

use crate::synthetic::Addresses;

/// How long a program may remember an answer, in seconds. It stays right for the whole run.
const TTL: u32 = 60;

/// What there is to say about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// It may be reached, or somebody can be asked about it.
    Known(Addresses),
    /// It does not exist here.
    Unknown,
}

/// The answer to a query; `None` for what is no query, which gets no answer. `look_up` is asked at most once.
pub(crate) fn answer(query: &[u8], look_up: impl FnOnce(&Name) -> Lookup) -> Option<Vec<u8>> {
    let asked = Message::from_vec(query).ok()?;
    if asked.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut said = Message::response(asked.metadata.id, asked.metadata.op_code);
    said.metadata.recursion_desired = asked.metadata.recursion_desired;
    said.metadata.recursion_available = true;
    match (asked.metadata.op_code, asked.queries.as_slice()) {
        (OpCode::Query, [query]) => {
            said.add_query(query.clone());
            said.metadata.response_code = answer_one(query, look_up, &mut said);
        }
        (OpCode::Query, _) => said.metadata.response_code = ResponseCode::FormErr,
        _ => said.metadata.response_code = ResponseCode::NotImp,
    }
    said.to_vec().ok()
}

fn answer_one(query: &Query, look_up: impl FnOnce(&Name) -> Lookup, said: &mut Message) -> ResponseCode {
    if query.query_class() != DNSClass::IN {
        return ResponseCode::Refused;
    }
    // Names that are no host's exist nowhere: service records, reverse lookups, bytes that are no letters.
    let Some(name) = Name::parse(&query.name().to_ascii()) else { return ResponseCode::NXDomain };
    if is_own(&name) {
        return own(query, said);
    }
    let Lookup::Known(addresses) = look_up(&name) else { return ResponseCode::NXDomain };
    let data = match query.query_type() {
        RecordType::A => Some(RData::A(rdata::A(addresses.v4))),
        RecordType::AAAA => Some(RData::AAAA(rdata::AAAA(addresses.v6))),
        _ => None,
    };
    said.add_answers(data.map(|data| Record::from_rdata(query.name().clone(), TTL, data)));
    ResponseCode::NoError
}

/// Names that always mean the machine they are asked on.
/// [RFC 6761](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)
fn is_own(name: &Name) -> bool {
    name.as_str() == "localhost" || name.as_str().ends_with(".localhost")
}

fn own(query: &Query, said: &mut Message) -> ResponseCode {
    let data = match query.query_type() {
        RecordType::A => rdata::A::from_str("127.0.0.1").ok().map(RData::A),
        RecordType::AAAA => rdata::AAAA::from_str("::1").ok().map(RData::AAAA),
        _ => None,
    };
    said.add_answers(data.map(|data| Record::from_rdata(query.name().clone(), TTL, data)));
    ResponseCode::NoError
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr;
    use proptest::prelude::*;

    use super::*;
    use crate::synthetic::Synthetic;

    fn ask(name: &str, kind: RecordType) -> (ResponseCode, Vec<String>) {
        let mut all = Synthetic::default();
        let mut query = Message::query();
        query.add_query(Query::query(rr::Name::from_ascii(name).unwrap(), kind));
        let said = answer(&query.to_vec().unwrap(), |name| match name.as_str() {
            "github.com" => Lookup::Known(all.addresses(name).unwrap()),
            _ => Lookup::Unknown,
        });
        let said = Message::from_vec(&said.unwrap()).unwrap();
        assert_eq!(said.metadata.id, query.metadata.id);
        (said.metadata.response_code, said.answers.iter().map(|record| record.data.to_string()).collect())
    }

    #[test]
    fn known_names_have_an_address_and_others_do_not_exist() {
        let none = Vec::<String>::new;
        assert_eq!(ask("GitHub.com.", RecordType::A), (ResponseCode::NoError, vec!["198.18.0.2".to_owned()]));
        assert_eq!(ask("github.com.", RecordType::AAAA).1, ["fd70:696e:666f:6c64::2"]);
        for kind in [RecordType::HTTPS, RecordType::SVCB, RecordType::TXT, RecordType::MX, RecordType::ANY] {
            assert_eq!(ask("github.com.", kind), (ResponseCode::NoError, none()), "{kind}");
        }
        for name in ["evil.example.", "data.github.com.", "1.0.0.127.in-addr.arpa.", "."] {
            assert_eq!(ask(name, RecordType::A), (ResponseCode::NXDomain, none()), "{name}");
        }
        assert_eq!(ask("localhost.", RecordType::A).1, ["127.0.0.1"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = answer(&bytes, |_| Lookup::Unknown);
        }

        /// A question with some bytes changed: what is answered is an answer to it, of one address at most.
        #[test]
        fn what_is_nearly_a_question_is_answered_with_no_more(
            name in "[a-z]{1,9}(\\.[a-z]{1,9}){0,3}\\.",
            kind in prop::sample::select(vec![RecordType::A, RecordType::AAAA, RecordType::HTTPS, RecordType::ANY]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut query = Message::query();
            query.add_query(Query::query(rr::Name::from_ascii(name).unwrap(), kind));
            let mut bytes = query.to_vec().unwrap();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let mut all = Synthetic::default();
            if let Some(said) = answer(&bytes, |name| all.addresses(name).map_or(Lookup::Unknown, Lookup::Known)) {
                let said = Message::from_vec(&said).unwrap();
                prop_assert_eq!(said.metadata.id, u16::from_be_bytes([bytes[0], bytes[1]]));
                prop_assert!(said.answers.len() <= 1 && said.authorities.is_empty() && said.additionals.is_empty());
            }
        }
    }
}
