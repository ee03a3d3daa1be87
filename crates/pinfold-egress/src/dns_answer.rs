//! DNS answers inside the sandbox: a query in, a response out, without any upstream resolver.
//!
//! A name that is allowed, or can be asked about, resolves to its fake addresses; any other name does not exist. No
//! query leaves the machine, so that no data leaves in names. Only address records exist. HTTPS and SVCB records least
//! of all: they would let a client encrypt the server name (ECH), which is what is judged.

use std::str::FromStr as _;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, RData, Record, RecordType, rdata};

use crate::fake_ip::FakeIps;
use pinfold_host::Name;

/// The TTL of every record, in seconds. The addresses hold for the whole run.
const TTL: u32 = 60;

/// The result of resolving a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The addresses of a known name.
    Known(FakeIps),
    /// No such name (NXDOMAIN).
    Unknown,
}

/// Answers a query; `None` for messages that are no query, which get no response. `look_up` is called at most once.
pub(crate) fn answer_query(query: &[u8], look_up: impl FnOnce(&Name) -> Lookup) -> Option<Vec<u8>> {
    let request = Message::from_vec(query).ok()?;
    if request.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut response = Message::response(request.metadata.id, request.metadata.op_code);
    response.metadata.recursion_desired = request.metadata.recursion_desired;
    response.metadata.recursion_available = true;
    match (request.metadata.op_code, request.queries.as_slice()) {
        (OpCode::Query, [query]) => {
            response.add_query(query.clone());
            response.metadata.response_code = handle_notification(query, look_up, &mut response);
        }
        (OpCode::Query, _) => response.metadata.response_code = ResponseCode::FormErr,
        _ => response.metadata.response_code = ResponseCode::NotImp,
    }
    response.to_vec().ok()
}

fn handle_notification(
    query: &Query,
    look_up: impl FnOnce(&Name) -> Lookup,
    response: &mut Message,
) -> ResponseCode {
    if query.query_class() != DNSClass::IN {
        return ResponseCode::Refused;
    }
    // Names that are no host name do not exist: service records, reverse lookups, arbitrary bytes.
    let Some(name) = Name::parse(&query.name().to_ascii()) else { return ResponseCode::NXDomain };
    if is_localhost(&name) {
        return answer_localhost(query, response);
    }
    let Lookup::Known(addresses) = look_up(&name) else { return ResponseCode::NXDomain };
    let data = match query.query_type() {
        RecordType::A => Some(RData::A(rdata::A(addresses.v4))),
        RecordType::AAAA => Some(RData::AAAA(rdata::AAAA(addresses.v6))),
        _ => None,
    };
    response.add_answers(data.map(|data| Record::from_rdata(query.name().clone(), TTL, data)));
    ResponseCode::NoError
}

/// Names that always resolve to loopback. [RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)
fn is_localhost(name: &Name) -> bool {
    name.as_str() == "localhost" || name.as_str().ends_with(".localhost")
}

fn answer_localhost(query: &Query, response: &mut Message) -> ResponseCode {
    let data = match query.query_type() {
        RecordType::A => rdata::A::from_str("127.0.0.1").ok().map(RData::A),
        RecordType::AAAA => rdata::AAAA::from_str("::1").ok().map(RData::AAAA),
        _ => None,
    };
    response.add_answers(data.map(|data| Record::from_rdata(query.name().clone(), TTL, data)));
    ResponseCode::NoError
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr;
    use proptest::prelude::*;

    use super::*;
    use crate::fake_ip::FakeIpPool;
    use crate::fake_ip::NameMatch;

    fn ask(name: &str, kind: RecordType) -> (ResponseCode, Vec<String>) {
        let mut pool = FakeIpPool::default();
        let mut query = Message::query();
        query.add_query(Query::query(rr::Name::from_ascii(name).unwrap(), kind));
        let response = answer_query(&query.to_vec().unwrap(), |name| match name.as_str() {
            "github.com" => Lookup::Known(pool.assign(name, &NameMatch::Exact).unwrap()),
            _ => Lookup::Unknown,
        });
        let response = Message::from_vec(&response.unwrap()).unwrap();
        assert_eq!(response.metadata.id, query.metadata.id);
        (
            response.metadata.response_code,
            response.answers.iter().map(|record| record.data.to_string()).collect(),
        )
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
            let _ = answer_query(&bytes, |_| Lookup::Unknown);
        }

        /// A query with altered bytes: any response matches its identifier and has at most one record.
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
            let mut pool = FakeIpPool::default();
            if let Some(response) = answer_query(&bytes, |name| pool.assign(name, &NameMatch::Exact).map_or(Lookup::Unknown, Lookup::Known)) {
                let response = Message::from_vec(&response).unwrap();
                prop_assert_eq!(response.metadata.id, u16::from_be_bytes([bytes[0], bytes[1]]));
                prop_assert!(response.answers.len() <= 1 && response.authorities.is_empty() && response.additionals.is_empty());
            }
        }
    }
}
