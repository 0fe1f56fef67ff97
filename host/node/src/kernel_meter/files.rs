//! Files of cgroups. Of a check of many of them the walk from the root to a file takes longest, so that the folders above all pods are open as
//! long as it takes.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Mode, OFlags, open, openat};

use crate::node_readings::kernel::text;

/// An open folder; none of one that isn't there.
type Folder = Option<Rc<OwnedFd>>;

/// Folders that are open during a check.
pub(super) struct OpenFolders {
    /// Where the tree of a controller begins.
    root: Box<dyn Fn(&str) -> PathBuf + Send>,
    /// The cgroups whose folders are kept open, by their paths below that, a longer one before those that it begins with. The last one is
    /// the root.
    kept: Vec<PathBuf>,
    /// By controller and place in the list.
    open: RefCell<Vec<(String, usize, Folder)>>,
}

impl OpenFolders {
    /// Keeps those of these cgroups open.
    pub(super) fn new(
        root: impl Fn(&str) -> PathBuf + Send + 'static,
        kept: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let mut kept: Vec<PathBuf> = kept.into_iter().collect();
        kept.sort_by_key(|path| std::cmp::Reverse(path.as_os_str().len()));
        kept.push(PathBuf::new());
        Self { root: Box::new(root), kept, open: RefCell::default() }
    }

    /// The nearest of them above a cgroup, or the root; and the way from there.
    fn nearest<'a>(&self, cgroup: &'a Path) -> (usize, &'a [u8]) {
        let path = cgroup.as_os_str().as_bytes();
        let below = |kept: &PathBuf| path.strip_prefix(kept.as_os_str().as_bytes())?.strip_prefix(b"/");
        let found = self.kept.iter().enumerate().find_map(|(at, kept)| Some((at, below(kept)?)));
        found.unwrap_or((self.kept.len() - 1, path))
    }

    fn folder(&self, controller: &str, at: usize) -> Folder {
        let known = |(of, kept, _): &&(String, usize, Folder)| *kept == at && of == controller;
        if let Some((.., folder)) = self.open.borrow().iter().find(known) {
            return folder.clone();
        }
        let path = (self.root)(controller).join(self.kept.get(at)?);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(&path, flags, Mode::empty()).ok().map(Rc::new);
        self.open.borrow_mut().push((controller.to_owned(), at, folder.clone()));
        folder
    }
}

/// Reads files of one cgroup, each once. Of most cgroups none is read.
pub(super) struct CgroupFiles<'a> {
    folders: &'a OpenFolders,
    cgroup: &'a Path,
    /// Which of the folders is the nearest one, and the way from there to a file of the cgroup, whose name goes to its end; once a file is
    /// read.
    way: RefCell<Option<(usize, Vec<u8>)>>,
    /// By controller and name.
    texts: RefCell<Vec<(String, String, Option<String>)>>,
}

impl<'a> CgroupFiles<'a> {
    pub(super) fn new(folders: &'a OpenFolders, cgroup: &'a Path) -> Self {
        Self { folders, cgroup, way: RefCell::default(), texts: RefCell::default() }
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
        let mut way = self.way.borrow_mut();
        let (nearest, way) = way.get_or_insert_with(|| {
            let (nearest, way) = self.folders.nearest(self.cgroup);
            let mut way = way.to_vec();
            if !way.is_empty() {
                way.push(b'/');
            }
            (nearest, way)
        });
        let folder = self.folders.folder(controller, *nearest)?;
        let before = way.len();
        way.extend_from_slice(file.as_bytes());
        let opened = openat(&*folder, &way[..], OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        way.truncate(before);
        text(opened.ok()?.into())
    }
}
