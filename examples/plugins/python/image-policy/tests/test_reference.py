"""References to images."""

import unittest

from reference import Reference

DIGEST = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"


class Parse(unittest.TestCase):
    def test_a_reference_is_read_as_runtimes_read_it(self) -> None:
        for image, place in [
            ("nginx", "docker.io/library/nginx"),
            ("nginx:1.27", "docker.io/library/nginx"),
            ("team/app:1", "docker.io/team/app"),
            ("docker.io/library/nginx", "docker.io/library/nginx"),
            ("localhost/web", "localhost/web"),
            ("localhost:5000/web:2", "localhost:5000/web"),
            ("registry.example.com/shop/web:1.2", "registry.example.com/shop/web"),
            ("Elsewhere/library/nginx", "Elsewhere/library/nginx"),
            (f"other.example.com/web:1@{DIGEST}", "other.example.com/web"),
        ]:
            with self.subTest(image=image):
                self.assertEqual(Reference.parse(image).place, place)

    def test_a_sha256_digest_pins(self) -> None:
        for image, pinned in [
            ("nginx", False),
            ("nginx:1@md5:00", False),
            (f"nginx@{DIGEST}", True),
            (f"nginx:1@{DIGEST}", True),
        ]:
            with self.subTest(image=image):
                self.assertEqual(Reference.parse(image).pinned, pinned)


class IsIn(unittest.TestCase):
    def test_places_are_matched_at_slashes(self) -> None:
        for place, inside in [
            ("docker.io", True),
            ("docker.io/library", True),
            ("docker.io/library/nginx", True),
            ("docker.io/lib", False),
            ("docker.io/library/nginx/more", False),
            ("docker", False),
        ]:
            with self.subTest(place=place):
                self.assertEqual(Reference.parse("nginx:1").is_in(place), inside)


if __name__ == "__main__":
    unittest.main()
