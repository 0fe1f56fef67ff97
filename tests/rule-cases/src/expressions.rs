//! Expressions of a type, from templates.
//!
//! In a template `$` and a letter stand for an expression of a type: `$b` a bool, `$s` a string, `$i` an int, `$l` a list of strings, `$q`
//! a quantity, `$t` a timestamp, `$p` a list of containers. `$S`, `$I` and `$C` stand for a bool that may ask the string `s`, the int
//! `i` or the container `c`; `$K` for a string that may ask `c`.

use crate::Choices;

/// How deep templates stand in each other at most.
const DEPTH_MAX: u32 = 4;

/// One expression of so many has a letter too few, one too many or another one.
const DAMAGED_ONCE_IN: usize = 100;

/// Letters that damage puts in.
const DAMAGE: &[&str] = &["(", ")", "'", ".", "?", "1", "x", "é", "\\", "\n", "[", "{", " "];

/// The templates of a type: those that ask nothing more, and the others.
type Templates = (&'static [&'static str], &'static [&'static str]);

const BOOLS: Templates = (
    &[
        "true",
        "false",
        "oldObject == null",
        "image == null",
        "has(object.spec.hostNetwork)",
        "has(object.metadata.labels)",
        "has(object.status.phase)",
        "object.spec.?hostNetwork.orValue(false)",
        "object.spec.hostPID",
        "object.spec.containers.size() > 1",
        "node.facts.size() > 0",
        "node.devices.exists(d, d == null)",
        "others.pods.all(o, o.priority >= 0)",
        "request.requests['cpu'] == quantity('1')",
        "image.sizeBytes > 5",
        "object.spec.?securityContext.runAsUser == optional.of(0)",
    ],
    &[
        "$b && $b",
        "$b || $b",
        "!$b",
        "$b ? $b : $b",
        "$s == $s",
        "$s != $s",
        "$s in $l",
        "$s.startsWith($s)",
        "$s.contains($s)",
        "$s.matches('^[a-z0-9./:-]+$')",
        "$s.matches('(a|b)*c')",
        "$s.matches($s)",
        "$i < $i",
        "$i == $i",
        "$i in [$i, $i]",
        "$l.all(s, $S)",
        "$l.exists(s, $S)",
        "$l.exists_one(s, $S)",
        "$l == $l",
        "sets.contains($l, $l)",
        "$l.isSorted()",
        "lists.range($i).all(i, $I)",
        "lists.range($i).exists(i, lists.range($i).exists(j, i * j == $i))",
        "lists.range(1000).all(i, lists.range(1000).all(j, i + j >= $i))",
        "$p.all(c, $C)",
        "$p.exists(c, $C)",
        "$q.isLessThan($q)",
        "$q == $q",
        "$t > $t",
        "isIP($s)",
        "isQuantity($s)",
        "isURL($s)",
        "isCIDR($s) && cidr($s).containsIP('10.0.0.1')",
        "format.dns1123Label().validate($s).hasValue()",
        "dyn($s) == dyn($i)",
        "[$b, $b].all(b, b)",
        "optional.of($s).orValue('') == $s",
    ],
);

const STRINGS: Templates = (
    &[
        "''",
        "'web'",
        "'nginx:1'",
        "'é\\n'",
        "'10.0.0.0/8'",
        "'500Mi'",
        "'https://a.example/b?c=d'",
        "object.metadata.name",
        "object.metadata.namespace",
        "object.metadata.?labels[?'app'].orValue('none')",
        "object.metadata.labels.app",
        "object.spec.hostname",
        "object.spec.containers[0].image",
        "oldObject.spec.containers[0].image",
        "request.operation",
        "request.phase",
        "request.source",
        "request.qosClass",
        "node.metadata.name",
        "node.facts['cgroup.version']",
        "image.?digest.orValue('')",
        "image.container",
    ],
    &[
        "$s + $s",
        "$b ? $s : $s",
        "$s.lowerAscii()",
        "$s.upperAscii().trim()",
        "$s.replace($s, $s)",
        "$s.substring($i)",
        "$s.charAt($i)",
        "$s.split($s)[0]",
        "$s.find('[a-z]+')",
        "$l.join($s)",
        "$l[$i]",
        "string($i)",
        "string($t)",
        "'%s of %d and %s'.format([$s, $i, $l])",
        "strings.quote($s)",
        "$s.lowerAscii().trim()",
    ],
);

const INTS: Templates = (
    &[
        "0",
        "1",
        "-1",
        "7",
        "1000",
        "99999",
        "9223372036854775807",
        "object.spec.priority",
        "request.priority",
        "others.count",
        "object.spec.containers.size()",
        "request.now.getHours()",
    ],
    &[
        "$i + $i",
        "$i - $i",
        "$i * $i",
        "$i / $i",
        "$i % $i",
        "-$i",
        "$s.size()",
        "$l.size()",
        "$s.indexOf($s)",
        "int($s)",
        "lists.range($i).sum()",
        "$t.getDayOfYear()",
        "$q.asInteger()",
        "$b ? $i : $i",
        "[$i, $i].max()",
    ],
);

const LISTS: Templates = (
    &[
        "[]",
        "['web', 'app']",
        "object.spec.containers.map(c, c.name)",
        "object.spec.?initContainers.orValue([]).map(c, c.image)",
        "others.pods.map(o, o.name)",
        "object.spec.nodeSelector.map(k, k)",
        "request.requests.map(k, k)",
    ],
    &[
        "[$s, $s]",
        "$l + $l",
        "$l.filter(s, $S)",
        "$p.map(c, $K)",
        "$p.filter(c, $C).map(c, c.name)",
        "$s.split('/')",
        "$s.split($s)",
        "$s.findAll('[a-z]', $i)",
        "$l.distinct()",
        "$l.sort()",
        "$l.reverse()",
        "$l.slice($i, $i)",
        "[$l, $l].flatten()",
        "lists.range($i).map(i, string(i))",
        "$b ? $l : $l",
    ],
);

const QUANTITIES: Templates = (
    &[
        "quantity('0')",
        "quantity('1.5Gi')",
        "quantity('500m')",
        "quantity('1e18')",
        "request.requests.cpu",
        "request.requests['memory']",
        "others.requested.cpu",
        "quantity(node.status.allocatable.cpu)",
        "quantity(object.spec.containers[0].resources.limits.memory)",
    ],
    &["$q.add($q)", "$q.sub($q)", "$q.add($i)", "quantity($s)", "$b ? $q : $q"],
);

const TIMES: Templates = (
    &["request.now", "timestamp('2026-01-02T03:04:05.6Z')", "timestamp('1970-01-01T00:00:00Z')"],
    &["$t + duration('1h2m')", "$t - duration($s)", "timestamp($s)", "timestamp($i)"],
);

const CONTAINERS: Templates = (
    &["object.spec.containers", "object.spec.?initContainers.orValue([])", "oldObject.spec.containers"],
    &["$p + $p", "$p.filter(c, $C)"],
);

/// What may be asked of a container `c`.
const OF_CONTAINER: &[(char, &str)] = &[
    ('s', "c.name"),
    ('s', "c.image"),
    ('s', "c.?imagePullPolicy.orValue('')"),
    ('b', "has(c.resources)"),
    ('b', "c.?securityContext.privileged.orValue(false)"),
    ('b', "c.ports.all(p, p.?hostPort.orValue(0) == 0)"),
    ('i', "c.securityContext.runAsUser"),
    ('q', "quantity(c.resources.limits['cpu'])"),
    ('l', "c.?args.orValue([])"),
];

/// Makes expressions that may ask what it knows.
pub(crate) struct Writer<'c> {
    pub(crate) choices: &'c mut Choices,
    /// What there is besides the handler's own, with its type.
    known: Vec<(char, String)>,
}

impl<'c> Writer<'c> {
    pub(crate) fn new(choices: &'c mut Choices) -> Self {
        Self { choices, known: Vec::new() }
    }

    /// From now on expressions may ask this.
    pub(crate) fn learn(&mut self, of: char, expression: &str) {
        self.known.push((of, expression.to_owned()));
    }

    /// An expression of this type. Some aren't, because they are damaged.
    pub(crate) fn expression(&mut self, of: char) -> String {
        let mut made = self.made(of, DEPTH_MAX);
        if self.choices.one_in(DAMAGED_ONCE_IN) {
            let places: Vec<usize> = made.char_indices().map(|(place, _)| place).collect();
            let place = places.get(self.choices.below(places.len())).copied().unwrap_or_default();
            if !made.is_empty() && self.choices.one_in(2) {
                made.remove(place);
            }
            made.insert_str(place, self.choices.of(DAMAGE));
        }
        made
    }

    fn made(&mut self, of: char, depth: u32) -> String {
        let known: Vec<&str> =
            self.known.iter().filter(|(other, _)| *other == of).map(|(_, known)| &**known).collect();
        if !known.is_empty() && self.choices.one_in(3) {
            return self.choices.of(&known).to_owned();
        }
        let (leaves, branches) = templates(of);
        if depth == 0 || self.choices.one_in(4) {
            return self.choices.of(leaves).to_owned();
        }
        let mut made = "(".to_owned();
        let mut letters = self.choices.of(branches).chars();
        while let Some(letter) = letters.next() {
            match (letter, letters.as_str().chars().next()) {
                ('$', Some(of)) if of.is_ascii_alphabetic() => {
                    letters.next();
                    made.push_str(&self.part(of, depth - 1));
                }
                (letter, _) => made.push(letter),
            }
        }
        made + ")"
    }

    /// What a letter behind `$` stands for.
    fn part(&mut self, letter: char, depth: u32) -> String {
        let before = self.known.len();
        let of = match letter {
            'S' => {
                self.learn('s', "s");
                'b'
            }
            'I' => {
                self.learn('i', "i");
                'b'
            }
            'C' | 'K' => {
                OF_CONTAINER.iter().for_each(|(of, expression)| self.learn(*of, expression));
                if letter == 'C' { 'b' } else { 's' }
            }
            of => of,
        };
        let made = self.made(of, depth);
        self.known.truncate(before);
        made
    }
}

fn templates(of: char) -> Templates {
    match of {
        's' => STRINGS,
        'i' => INTS,
        'l' => LISTS,
        'q' => QUANTITIES,
        't' => TIMES,
        'p' => CONTAINERS,
        _ => BOOLS,
    }
}
