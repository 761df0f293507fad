//! The system's tables of TCP sockets (proc(5), `/proc/net/tcp` and `tcp6`).

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use crate::http::Ends;

/// How often the tables are read before a socket counts as absent. A line can be missed where others come and go.
const LOOKS: usize = 3;

/// A socket that a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    /// Its number, as it stands in `socket:[…]`.
    pub(super) inode: u64,
    /// The user that has made it.
    pub(super) user: u32,
}

/// The client's end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// A socket of this machine.
    Here(Socket),
    /// It was on this machine, and nobody holds it any more.
    Gone,
    /// It is on another machine, or in another network of this one.
    Elsewhere,
}

/// Finds the client's end.
///
/// # Errors
/// The tables cannot be read.
pub(super) fn find(ends: Ends) -> io::Result<Peer> {
    for _ in 0..LOOKS {
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            let table = match File::open(table) {
                Ok(table) => BufReader::new(table),
                // Without IPv6 there is no table of it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if let Some(socket) = held(table, ends)? {
                return Ok(Peer::Here(socket));
            }
        }
    }
    let address = ends.peer.ip().to_canonical();
    Ok(
        if address == ends.local.ip().to_canonical() || is_ours(address) {
            Peer::Gone
        } else {
            Peer::Elsewhere
        },
    )
}

/// Whether an address is one of this machine's: nothing can be bound to another. In doubt it is.
fn is_ours(address: IpAddr) -> bool {
    match UdpSocket::bind((address, 0)) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::AddrNotAvailable,
    }
}

/// The client's socket in a table, if somebody holds it.
fn held(table: impl BufRead, ends: Ends) -> io::Result<Option<Socket>> {
    let wanted = [plain(ends.peer), plain(ends.local)];
    for line in table.lines() {
        if let Some((addresses, socket)) = read(&line?)
            && addresses == wanted
            // What nobody holds has no number.
            && socket.inode != 0
        {
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

/// A line: the local and the remote address, and whose the socket is.
fn read(line: &str) -> Option<([(IpAddr, u16); 2], Socket)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    let mut words = words.skip(4);
    let user = words.next()?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    Some(([local, remote], Socket { inode, user }))
}

/// An address: numbers of 32 bits as they lie in memory, in hexadecimal, a colon and the port.
fn address(word: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = word.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let number = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(number(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&number(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((address.to_canonical(), port))
}

/// An address as one family or the other would have it, since a socket for IPv6 takes connections of both.
fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it is written where numbers lie in memory with their lowest byte first.
    #[cfg(target_endian = "little")]
    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2253 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:2253 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 30 10 -1
   2: 0100007F:9C40 0100007F:2253 01 00000000:00000000 02:00000A3C 00000000  1001        0 13 2 0 20 4 0 10 -1
   3: 0100007F:9C41 0100007F:2253 06 00000000:00000000 03:00000F00 00000000     0        0 0 3 0
   4: 0000000000000000FFFF00000100007F:9C42 0000000000000000FFFF00000100007F:2253 01 00000000:00000000 00:00000000 00000000 7 0 14 1
   5: 00000000000000000000000001000000:9C43 00000000000000000000000001000000:2253 01 00000000:00000000 00:00000000 00000000 8 0 15 1
   6: 0100007F:9C44 0100007F
";

    #[cfg(target_endian = "little")]
    fn in_table(peer: &str, local: &str) -> Option<Socket> {
        let [peer, local] = [peer, local].map(|it| it.parse().unwrap());
        held(TABLE.as_bytes(), Ends { peer, local }).unwrap()
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_clients_end_is_found_and_never_our_own() {
        let socket = |user, inode| Some(Socket { inode, user });
        for (peer, local, wanted) in [
            ("127.0.0.1:40000", "127.0.0.1:8787", socket(1001, 13)),
            (
                "[::ffff:127.0.0.1]:40000",
                "[::ffff:127.0.0.1]:8787",
                socket(1001, 13),
            ),
            // Nobody holds it.
            ("127.0.0.1:40001", "127.0.0.1:8787", None),
            // A socket for IPv6 that has called an address of the other family.
            ("127.0.0.1:40002", "127.0.0.1:8787", socket(7, 14)),
            ("[::1]:40003", "[::1]:8787", socket(8, 15)),
            // Another daemon's, and lines that are no sockets.
            ("127.0.0.1:40000", "127.0.0.1:8788", None),
            ("127.0.0.1:40004", "127.0.0.1:8787", None),
        ] {
            assert_eq!(in_table(peer, local), wanted, "{peer} {local}");
        }
    }

    #[test]
    fn an_address_is_ours_or_another_machines() {
        for (address, wanted) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("192.0.2.1", false),
        ] {
            assert_eq!(is_ours(address.parse().unwrap()), wanted, "{address}");
        }
    }

    #[test]
    fn a_client_that_is_there_is_found_and_one_that_has_left_is_gone() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(local).unwrap();
        let (_taken, peer) = listener.accept().unwrap();
        let ends = Ends { peer, local };
        assert!(matches!(find(ends), Ok(Peer::Here(_))));
        drop(client);
        assert_eq!(find(ends).unwrap(), Peer::Gone);
        let peer = "192.0.2.1:9".parse().unwrap();
        assert_eq!(find(Ends { peer, local }).unwrap(), Peer::Elsewhere);
    }
}
