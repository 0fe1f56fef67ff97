//! Images: what can be pulled, and what is refused with which words.

use libtest_mimic::Trial;
use tonic::Code;
use witlet_proto::cri::*;

use crate::client::{Folders, Runtime, program};
use crate::{alone, on_shared};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("what_is_no_command_component_is_refused_at_the_pull", refused),
        alone("an_image_is_what_was_pulled_until_it_is_pulled_again", snapshot),
    ]
}

fn spec(image: &str) -> Option<ImageSpec> {
    Some(ImageSpec { image: image.to_owned(), ..Default::default() })
}

async fn status(runtime: &Runtime, image: &str) -> Option<Image> {
    let request = ImageStatusRequest { image: spec(image), ..Default::default() };
    runtime.images.clone().image_status(request).await.expect("a status").into_inner().image
}

async fn refused(runtime: Runtime) {
    let folder = runtime.folder.join("images");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("a file");
    write("text.wasm", b"(component)");
    write("script.wasm", b"#!/bin/sh\n");
    write("empty.wasm", b"");
    write("module.wasm", b"\0asm\x01\0\0\0");
    write("damaged.wasm", b"\0asm\x0d\0\x01\0\xff\xff\xff");
    // A component with nothing in it is valid, and no command.
    write("nothing.wasm", b"\0asm\x0d\0\x01\0");
    std::fs::File::create(folder.join("huge.wasm")).and_then(|file| file.set_len(1 << 40)).expect("a hole");
    for (image, code, words) in [
        ("file:absent.wasm", Code::NotFound, "there is no file"),
        ("file:../outside.wasm", Code::InvalidArgument, "may not contain `..`"),
        ("busybox:latest", Code::InvalidArgument, "runs WebAssembly components from files"),
        ("file:text.wasm", Code::InvalidArgument, "text"),
        ("file:script.wasm", Code::InvalidArgument, "not a WebAssembly component"),
        ("file:empty.wasm", Code::InvalidArgument, "empty"),
        ("file:module.wasm", Code::InvalidArgument, "core module"),
        ("file:damaged.wasm", Code::InvalidArgument, "invalid WebAssembly"),
        ("file:nothing.wasm", Code::InvalidArgument, "doesn't export wasi:cli/run"),
        ("file:huge.wasm", Code::InvalidArgument, "is larger than"),
        ("", Code::InvalidArgument, "image is missing"),
    ] {
        let refusal = runtime.pull(image).await.expect_err(image);
        assert_eq!(refusal.code(), code, "{image}: {refusal}");
        assert!(refusal.message().contains(words), "{image}: {refusal}");
        if !image.is_empty() {
            assert!(refusal.message().contains(image), "{image}: {refusal}");
            assert_eq!(status(&runtime, image).await, None, "{image}");
        }
    }
}

async fn snapshot() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let reference = "file:changing.wasm";
    let file = folders.path("images/changing.wasm");
    std::fs::copy(folders.path("images/worker.wasm"), &file).expect("a file");
    let first = runtime.pull(reference).await.expect("it is pulled");
    let same = runtime.pull("file:worker.wasm").await.expect("it is pulled");
    assert_eq!(first, same, "the digest is that of the component");
    let told = status(&runtime, reference).await.expect("it is there");
    assert_eq!(told.repo_tags, ["file:changing.wasm", "file:worker.wasm"]);
    assert_eq!(told.size, std::fs::metadata(&file).expect("a file").len());

    // The file goes away: what was pulled can still be run.
    std::fs::remove_file(&file).expect("it is removed");
    assert_eq!(status(&runtime, &first).await.map(|image| image.id).as_deref(), Some(first.as_str()));
    let pod = runtime.pod().await;
    std::fs::copy(folders.path("images/crasher.wasm"), &file).expect("a file");
    let second = runtime.pull(reference).await.expect("it is pulled");
    assert_ne!(first, second);
    let id = runtime.run(&pod, "app", program("changing", &[])).await;
    assert_eq!(runtime.end(&id).await.image_ref, second);

    let usage =
        runtime.images.clone().image_fs_info(ImageFsInfoRequest {}).await.expect("usage").into_inner();
    let usage = &usage.image_filesystems[0];
    let copies = || std::fs::read_dir(folders.path("root/components")).expect("a folder").count();
    assert_eq!(usage.inodes_used.as_ref().map(|count| count.value), Some(2));
    assert_eq!(copies(), 2);
    for image in ["file:worker.wasm", &second, "file:never-there.wasm"] {
        let request = RemoveImageRequest { image: spec(image) };
        runtime.images.clone().remove_image(request).await.expect("it is removed");
    }
    let listed = runtime.images.clone().list_images(ListImagesRequest::default()).await.expect("a list");
    assert_eq!(listed.into_inner().images, []);
    assert_eq!(copies(), 0);
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}
