//! Files of one cgroup: its folders are looked up once, and each file is read once.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};

use crate::node_readings::kernel::text;

/// Reads files of a cgroup's folders; in version 1 each controller has one.
pub(super) struct CgroupFiles<'a> {
    /// Where the folder of a controller is.
    folder: &'a dyn Fn(&str) -> PathBuf,
    folders: RefCell<Vec<(String, Option<OwnedFd>)>>,
    /// By controller and name.
    texts: RefCell<Vec<(String, String, Option<String>)>>,
}

impl<'a> CgroupFiles<'a> {
    pub(super) fn new(folder: &'a dyn Fn(&str) -> PathBuf) -> Self {
        Self { folder, folders: RefCell::default(), texts: RefCell::default() }
    }

    /// The file's text; none if it can't be read.
    pub(super) fn read(&self, controller: &str, file: &str) -> Option<String> {
        let texts = self.texts.borrow();
        if let Some((.., text)) = texts.iter().find(|(of, name, _)| of == controller && name == file) {
            return text.clone();
        }
        drop(texts);
        let text = self.read_now(controller, file);
        self.texts.borrow_mut().push((controller.to_owned(), file.to_owned(), text.clone()));
        text
    }

    fn read_now(&self, controller: &str, file: &str) -> Option<String> {
        let mut folders = self.folders.borrow_mut();
        let at = folders.iter().position(|(known, _)| known == controller).unwrap_or_else(|| {
            folders.push((controller.to_owned(), open_folder(&(self.folder)(controller))));
            folders.len() - 1
        });
        let file =
            openat(folders.get(at)?.1.as_ref()?, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        text(file.ok()?.into())
    }
}

fn open_folder(path: &Path) -> Option<OwnedFd> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
}
