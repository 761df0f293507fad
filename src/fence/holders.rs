//! Who holds a socket, as `/proc` tells it.

use std::{
    fs::{self, ReadDir},
    io,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use super::sockets::Socket;

/// Who holds a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// One of the processes that were asked about.
    Inside(i32),
    /// None of them is seen to hold it, but one of them may have hidden it, and nobody else is seen to hold it.
    Hidden,
    /// Somebody else.
    Outside,
}

/// Finds who holds a socket: one of the processes `inside`, or somebody else.
///
/// Most is told by the files of these processes alone, or by the user that has made the socket. For one of a user that
/// they are of, they must have had no way to hide it, or else it has to be found elsewhere. It can be hidden by a thread with
/// files of its own, by a process that cannot be read, in a ring (`io_uring`) that has files of its own, or on its
/// way in a message between two sockets.
pub(super) fn find(socket: Socket, inside: &[i32]) -> Holder {
    let name = format!("socket:[{}]", socket.inode);
    if let Some(process) = inside
        .iter()
        .find(|process| holds(&folder(**process), &name))
    {
        return Holder::Inside(*process);
    }
    let statuses: Vec<_> = inside.iter().map(|it| Status::of(&folder(*it))).collect();
    let is_of_theirs = statuses
        .iter()
        .any(|status| status.users.contains(&socket.user));
    if socket.user != geteuid().as_raw() && !is_of_theirs {
        return Holder::Outside;
    }
    let mut may_hide = false;
    for process in inside {
        match hiding(*process, &name) {
            Hiding::Found => return Holder::Inside(*process),
            Hiding::Possible => may_hide = true,
            Hiding::Impossible => {}
        }
    }
    // This is the most to look through, and seldom needed.
    let is_elsewhere = || processes().any(|it| !inside.contains(&it) && holds(&folder(it), &name));
    if may_hide && !is_elsewhere() {
        Holder::Hidden
    } else {
        Holder::Outside
    }
}

/// Whether a process hides a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hiding {
    Found,
    Possible,
    Impossible,
}

/// Looks at each task of a process. One that has ended holds nothing.
fn hiding(process: i32, name: &str) -> Hiding {
    let mut may_hide = false;
    for task in names(fs::read_dir(folder(process).join("task"))) {
        let files = task.join("fd");
        match fs::read_dir(&files) {
            Err(error) => {
                let is_closed = error.kind() == io::ErrorKind::PermissionDenied;
                may_hide |= is_closed && !Status::of(&task).has_ended;
            }
            Ok(list) => {
                for file in names(Ok(list)) {
                    let link = fs::read_link(&file).unwrap_or_default();
                    if link == Path::new(name) {
                        return Hiding::Found;
                    }
                    may_hide |= is_ring(&link) || carries_files(&task, &file, &link);
                }
            }
        }
    }
    if may_hide {
        Hiding::Possible
    } else {
        Hiding::Impossible
    }
}

fn is_ring(link: &Path) -> bool {
    link == Path::new("anon_inode:[io_uring]")
}

/// Whether files are on their way to a socket. Kernels before 5.12 do not tell.
fn carries_files(task: &Path, file: &Path, link: &Path) -> bool {
    let is_socket = link
        .to_str()
        .is_some_and(|link| link.starts_with("socket:"));
    let Some(number) = file.file_name().filter(|_| is_socket) else {
        return false;
    };
    let told = fs::read_to_string(task.join("fdinfo").join(number));
    told.is_ok_and(|told| files_on_their_way(&told) > 0)
}

fn files_on_their_way(told: &str) -> u32 {
    let count = told.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or_default()
}

/// Whether a file of this process or task is the one of this name.
fn holds(folder: &Path, name: &str) -> bool {
    let mut files = names(fs::read_dir(folder.join("fd")));
    files.any(|file| fs::read_link(file).is_ok_and(|link| link == Path::new(name)))
}

/// What is there of a folder that may be gone.
fn names(folder: io::Result<ReadDir>) -> impl Iterator<Item = PathBuf> {
    let entries = folder.into_iter().flatten();
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path()))
}

fn processes() -> impl Iterator<Item = i32> {
    names(fs::read_dir("/proc")).filter_map(|path| path.file_name()?.to_str()?.parse().ok())
}

fn folder(process: i32) -> PathBuf {
    Path::new("/proc").join(process.to_string())
}

/// What is told of a process or task to everybody.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    /// The users that it is or can become.
    users: Vec<u32>,
    has_ended: bool,
}

impl Status {
    /// Nothing if it is gone.
    fn of(folder: &Path) -> Self {
        let text = fs::read(folder.join("status")).unwrap_or_default();
        Self::read(&String::from_utf8_lossy(&text))
    }

    fn read(text: &str) -> Self {
        let value = |key| text.lines().find_map(|line| line.strip_prefix(key));
        let users = value("Uid:").unwrap_or_default().split_ascii_whitespace();
        let state = value("State:").unwrap_or_default().trim_start();
        Self {
            users: users.filter_map(|user| user.parse().ok()).collect(),
            has_ended: state.is_empty() || state.starts_with(['Z', 'X']),
        }
    }
}

/// What a process calls itself, for the log.
pub(super) fn title(process: i32) -> String {
    let name = fs::read(folder(process).join("comm")).unwrap_or_default();
    let name = String::from_utf8_lossy(&name);
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    format!("{process} ({name})")
}

#[cfg(test)]
mod tests {
    use std::{
        io::IoSlice,
        mem::MaybeUninit,
        net::{TcpListener, TcpStream},
        os::{
            fd::{AsFd as _, AsRawFd as _},
            unix::net::UnixStream,
        },
        process::{Child, Command, Stdio},
    };

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    use super::*;

    #[test]
    fn a_status_tells_users_and_ends() {
        for (text, users, has_ended) in [
            (
                "Name:\tx\nState:\tS (sleeping)\nUid:\t5\t6\t5\t5\n",
                &[5, 6, 5, 5][..],
                false,
            ),
            (
                "State:\tZ (zombie)\nUid:\t0\t0\t0\t0\n",
                &[0, 0, 0, 0],
                true,
            ),
            ("", &[], true),
        ] {
            let users = users.to_vec();
            assert_eq!(Status::read(text), Status { users, has_ended }, "{text}");
        }
    }

    #[test]
    fn files_on_their_way_are_counted_where_they_are_told() {
        for (told, count) in [
            ("pos:\t0\nscm_fds: 2\n", 2),
            ("scm_fds:\t0\n", 0),
            ("pos:\t0", 0),
        ] {
            assert_eq!(files_on_their_way(told), count, "{told}");
        }
    }

    /// A process that does nothing.
    fn idle() -> Child {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    /// A connection's client, and the socket that it is.
    fn client(listener: &TcpListener) -> (TcpStream, Socket) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
        let link = link.to_str().unwrap();
        let digits: String = link.chars().filter(char::is_ascii_digit).collect();
        let inode = digits.parse().unwrap();
        let user = geteuid().as_raw();
        (client, Socket { inode, user })
    }

    #[test]
    fn a_socket_on_its_way_to_its_own_process_is_hidden() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (client, socket) = client(&listener);
        let (from, _to) = UnixStream::pair().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let files = [client.as_fd()];
        assert!(message.push(SendAncillaryMessage::ScmRights(&files)));
        let flags = SendFlags::empty();
        sendmsg(&from, &[IoSlice::new(b"x")], &mut message, flags).unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(find(socket, &[me]), Holder::Inside(me));
        drop(client);
        assert_eq!(find(socket, &[me]), Holder::Hidden);
    }

    #[test]
    fn who_holds_a_socket_is_inside_or_outside() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_client, socket) = client(&listener);
        let me = i32::try_from(std::process::id()).unwrap();
        let mut other = idle();
        let it = i32::try_from(other.id()).unwrap();
        assert_eq!(find(socket, &[it, me]), Holder::Inside(me));
        assert_eq!(find(socket, &[it]), Holder::Outside);
        let nobodys = Socket { inode: 1, ..socket };
        assert_eq!(
            find(nobodys, &[it]),
            Holder::Outside,
            "it has nowhere to hide it"
        );
        let foreign = Socket {
            inode: 1,
            user: socket.user ^ 1,
        };
        assert_eq!(find(foreign, &[it]), Holder::Outside);
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
