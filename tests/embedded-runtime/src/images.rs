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
        alone("a_copy_that_was_damaged_is_not_run", damaged),
        on_shared("a_component_that_starts_large_runs_where_its_limit_lets_it", large),
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
        (
            "file:nothing.wasm",
            Code::InvalidArgument,
            "exports neither wasi:cli/run nor wasi:http/incoming-handler",
        ),
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
    let folders = Folders::with_own_cache();
    let (mut process, runtime) = folders.start().await;
    let reference = "file:changing.wasm";
    let file = folders.path("images/changing.wasm");
    std::fs::copy(folders.path("images/worker.wasm"), &file).expect("a file");
    let first = runtime.pull(reference).await.expect("it is pulled");
    let same = runtime.pull("file:worker.wasm").await.expect("it is pulled");
    assert_eq!(first, same, "the digest is that of the component");
    let reported = status(&runtime, reference).await.expect("it is there");
    assert_eq!(reported.repo_tags, ["file:changing.wasm", "file:worker.wasm"]);
    assert_eq!(reported.size, std::fs::metadata(&file).expect("a file").len());

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
    let code = || {
        let all = std::fs::read_dir(folders.path("code")).expect("a folder").flatten();
        all.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "cwasm")).count()
    };
    assert_eq!(code(), 2, "of what is there");
    assert_eq!(usage.inodes_used.as_ref().map(|count| count.value), Some(2));
    assert_eq!(copies(), 2);
    for image in ["file:worker.wasm", &second, "file:never-there.wasm"] {
        let request = RemoveImageRequest { image: spec(image) };
        runtime.images.clone().remove_image(request).await.expect("it is removed");
    }
    let listed = runtime.images.clone().list_images(ListImagesRequest::default()).await.expect("a list");
    assert_eq!(listed.into_inner().images, []);
    assert_eq!(copies(), 0);
    assert_eq!(code(), 0, "compiled code goes with its image");
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}

async fn damaged() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let id = runtime.pull("file:worker.wasm").await.expect("it is pulled");
    process.kill().expect("it runs");
    process.wait().expect("it ended");
    let copy = folders.path("root/components").join(format!("{}.wasm", id.trim_start_matches("sha256:")));
    std::fs::copy(folders.path("images/crasher.wasm"), copy).expect("it can be replaced");
    let (mut process, runtime) = folders.start().await;
    let pod = runtime.pod().await;
    let config = ContainerConfig {
        metadata: Some(ContainerMetadata { name: "app".to_owned(), attempt: 0 }),
        image: spec("file:worker.wasm"),
        ..Default::default()
    };
    let request =
        CreateContainerRequest { pod_sandbox_id: pod.id.clone(), config: Some(config), sandbox_config: None };
    let created = runtime.pods.clone().create_container(request).await.expect("a container").into_inner();
    let refusal = runtime.start(&created.container_id).await.expect_err("it is another program");
    assert_eq!(refusal.code(), Code::DataLoss, "{refusal}");
    assert_eq!(status(&runtime, "file:worker.wasm").await, None, "no one takes it for present");
    runtime.pull("file:worker.wasm").await.expect("it is pulled again");
    runtime.start(&created.container_id).await.expect("it starts");
    assert_eq!(runtime.end(&created.container_id).await.exit_code, 0);
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}

/// A component with half a gibibyte of memory from the beginning.
const LARGE: &str = r#"(component
    (core module $program
        (memory (export "memory") 8192)
        (func (export "run") (result i32) (i32.const 0)))
    (core instance $core (instantiate $program))
    (func $run (result (result)) (canon lift (core func $core "run")))
    (instance $exported (export "run" (func $run)))
    (export "wasi:cli/run@0.2.0" (instance $exported)))"#;

async fn large(runtime: Runtime) {
    let component = wat::parse_str(LARGE).expect("a component");
    std::fs::write(runtime.folder.join("images/large.wasm"), component).expect("a file");
    let pod = runtime.pod().await;
    for (name, memory, code, reason) in
        [("default", 0, 137, "OOMKilled"), ("enough", 600 << 20, 0, "Completed")]
    {
        let mut one = program("large", &[]);
        one.memory = memory;
        let id = runtime.run(&pod, name, one).await;
        let status = runtime.end(&id).await;
        assert_eq!((status.exit_code, status.reason.as_str()), (code, reason), "{name}: {}", status.message);
    }
}
