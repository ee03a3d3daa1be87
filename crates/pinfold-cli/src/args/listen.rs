//! Ports that are published: `3000`, or `8080:3000` for port 3000 inside at 8080 on this machine.

/// A port inside, and where it is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    /// On this machine.
    pub(crate) outside: u16,
    /// Inside.
    pub(crate) inside: u16,
}

impl Listen {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let port = digits.parse().ok().filter(|port| plain && *port != 0);
            port.ok_or_else(|| {
                format!("`{digits}` is no port: write a number from 1 to 65535, or two as in 8080:3000")
            })
        };
        let (outside, inside) = text.split_once(':').unwrap_or((text, text));
        Ok(Self { outside: number(outside)?, inside: number(inside)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_number_or_two() {
        let read = |text: &str| Listen::parse(text).ok().map(|l| (l.outside, l.inside));
        assert_eq!(read("3000"), Some((3000, 3000)));
        assert_eq!(read("8080:3000"), Some((8080, 3000)));
        for bad in
            ["", "0", "0:3000", "3000:0", "65536", "a", "+1", "1:2:3", "0.0.0.0:3000", ":3000", "3000:", "-1"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
