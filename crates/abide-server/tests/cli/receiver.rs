//! Somebody who is called: a sink, a collector, a service.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A request as it came.
pub(crate) struct Call {
    pub(crate) path: String,
    /// By their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// Answers every request with an empty 200 once it has handed on what was read of it. Its address, without a path.
pub(crate) fn receiver<T: Send + 'static>(
    of: impl Fn(Call) -> Vec<T> + Copy + Send + 'static,
) -> (String, Receiver<T>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let (told, calls) = channel();
    thread::spawn(move || {
        for stream in socket.incoming() {
            let told = told.clone();
            thread::spawn(move || serve(&stream.unwrap(), of, &told));
        }
    });
    (url, calls)
}

fn serve<T>(stream: &TcpStream, of: impl Fn(Call) -> Vec<T>, told: &Sender<T>) {
    let mut reader = BufReader::new(stream);
    while let Some(call) = read(&mut reader) {
        of(call).into_iter().for_each(|read| drop(told.send(read)));
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Call> {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = line()?.split_once(": ") {
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |n| n.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Call { path, headers, body })
}
