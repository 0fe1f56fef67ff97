//! Upstream's own examples and unit tests of its CEL libraries, restated for pods and in our words: expressions with the values that they
//! have of [`POD`], or words of the error. The handler's tests ask its rules about them, too.

/// Expressions, each with its value or `error: ` and words.
pub(crate) type Cases = &'static [(&'static str, &'static str)];

/// The pod.
pub(crate) const POD: &str = r#"{
    "metadata": {
        "name": "web-0", "namespace": "shop", "ownerReferences": [{"kind": "StatefulSet", "name": "web"}],
        "labels": {"app": "web", "tier": "front", "x-prop": "1", "redact__d": "2", "example.com/team": "blue"},
        "annotations": {
            "created": "2026-01-02T03:00:00Z", "ttl": "1h30m", "expired": "2026-01-02T05:00:00Z", "health": "ok: all",
            "homepage": "https://shop.example:8443/a b?team=x&team=y", "ports": "8080, 9090, 7"
        }
    },
    "spec": {
        "nodeSelector": {"zone": "a", "disk": "ssd"}, "priority": 7, "terminationGracePeriodSeconds": 30,
        "containers": [
            {
                "name": "app", "image": "registry.example/web:1.27",
                "env": [{"name": "MODE", "value": "fast"}, {"name": "LEVEL", "value": "l3"}],
                "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
                "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
                "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                "securityContext": {"runAsUser": 1000, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}
            },
            {
                "name": "log", "image": "registry.example/log@sha256:0123", "env": [],
                "resources": {"requests": {"cpu": "100m", "memory": "32Mi"}, "limits": {"cpu": "100m", "memory": "32Mi"}},
                "livenessProbe": {"tcpSocket": {"port": 9000}, "periodSeconds": 10}
            }
        ],
        "initContainers": [{"name": "init", "image": "registry.example/init:2"}],
        "tolerations": [{"key": "gpu", "tolerationSeconds": 300}, {"key": "spot"}],
        "dnsConfig": {"nameservers": ["10.0.0.10", "fd00::10"], "searches": ["shop.svc.cluster.local"]}
    }
}"#;

pub(crate) const RULES_OF_THE_DOCUMENTATION_HOLD_FOR_PODS: Cases = &[
    // Fields are ordered.
    (
        "object.spec.containers.all(c, quantity(c.resources.requests.cpu).compareTo(quantity(c.resources.limits.cpu)) <= 0)",
        "true",
    ),
    (
        "object.spec.containers.all(c, quantity(c.resources.requests.memory).isLessThan(quantity(c.resources.limits.memory)))",
        "false",
    ),
    ("0 <= object.spec.priority && object.spec.priority <= 10", "true"),
    ("object.spec.containers.size() <= 1", "false"),
    // A map has a key, or has none.
    ("'app' in object.metadata.labels", "true"),
    ("'Available' in object.metadata.labels", "false"),
    (
        "!('MY_KEY' in object.metadata.labels) || object.metadata.labels['MY_KEY'].matches('^[a-zA-Z]*$')",
        "true",
    ),
    (
        "!('x-prop' in object.metadata.labels) || object.metadata.labels['x-prop'].matches('^[a-zA-Z]*$')",
        "false",
    ),
    // One of two lists has elements, not both.
    ("(object.spec.containers[0].env.size() == 0) != (object.spec.containers[1].env.size() == 0)", "true"),
    ("(object.spec.containers.size() == 0) != (object.spec.tolerations.size() == 0)", "false"),
    // The value of the entry that has a name.
    (
        "object.spec.containers[0].env.filter(e, e.name == 'MODE').all(e, e.value.matches('^[a-zA-Z]*$'))",
        "true",
    ),
    (
        "object.spec.containers[0].env.filter(e, e.name == 'LEVEL').all(e, e.value.matches('^[a-zA-Z]*$'))",
        "false",
    ),
    // Times and spans.
    (
        "has(object.metadata.annotations.expired) && timestamp(object.metadata.annotations.created) + duration(object.metadata.annotations.ttl) < timestamp(object.metadata.annotations.expired)",
        "true",
    ),
    (
        "timestamp(object.metadata.annotations.created) + duration('2h') < timestamp(object.metadata.annotations.expired)",
        "false",
    ),
    ("has(object.metadata.deletionTimestamp) && object.metadata.deletionTimestamp != ''", "false"),
    // Beginnings, and a value that another field has.
    ("object.metadata.annotations.health.startsWith('ok')", "true"),
    ("object.metadata.name.startsWith(object.metadata.ownerReferences[0].name)", "true"),
    ("object.metadata.name == 'singleton'", "false"),
    // An element with a key, and what else it has.
    ("object.spec.tolerations.exists(t, t.key == 'gpu' && t.tolerationSeconds < 600)", "true"),
    ("object.spec.tolerations.exists(t, t.key == 'gpu' && t.tolerationSeconds < 60)", "false"),
    // An element without the field counts only if none decides.
    ("object.spec.tolerations.exists(t, t.tolerationSeconds > 600)", "error: no such key: tolerationSeconds"),
    ("object.spec.containers.filter(c, c.name == 'app').size() == 1", "true"),
];

pub(crate) const FURTHER_RULES_OF_THE_DOCUMENTATION_HOLD_FOR_PODS: Cases = &[
    // A whole number or a text.
    (
        "type(object.spec.containers[0].readinessProbe.httpGet.port) == string ? object.spec.containers[0].readinessProbe.httpGet.port == 'http' : object.spec.containers[0].readinessProbe.httpGet.port == 80",
        "true",
    ),
    (
        "type(object.spec.containers[1].livenessProbe.tcpSocket.port) == string ? object.spec.containers[1].livenessProbe.tcpSocket.port == 'http' : object.spec.containers[1].livenessProbe.tcpSocket.port == 9000",
        "true",
    ),
    // Lists without a common element; keys that are those of a list.
    (
        "object.spec.containers[0].securityContext.capabilities.add.all(e, !(e in object.spec.containers[0].securityContext.capabilities.drop))",
        "true",
    ),
    (
        "size(['zone', 'disk']) == size(object.spec.nodeSelector) && ['zone', 'disk'].all(n, n in object.spec.nodeSelector)",
        "true",
    ),
    ("object.spec.nodeSelector.all(key, key.matches('^[a-zA-Z]*$'))", "true"),
    ("object.metadata.labels.all(key, key.matches('^[a-zA-Z]*$'))", "false"),
    ("object.spec.nodeSelector.all(key, object.spec.nodeSelector[key].matches('^[a-z]{1,2}$'))", "false"),
    // A field that may not be there.
    ("has(object.spec.namex) ? object.spec.namex == 'special' : object.metadata.name == 'web-0'", "true"),
    ("object.spec.namex == 'special'", "error: no such key: namex"),
    // Names that CEL has no words for.
    ("object.metadata.labels.x__dash__prop == '1'", "true"),
    ("object.metadata.labels.redact__underscores__d == '2'", "true"),
    ("object.metadata.labels.example__dot__com__slash__team == 'blue'", "true"),
    ("object.metadata.__namespace__ == 'shop' && object.metadata.namespace == 'shop'", "true"),
];

pub(crate) const LISTS_AND_PATTERNS_OF_THE_DOCUMENTATION_HOLD_FOR_PODS: Cases = &[
    ("object.spec.containers.map(c, c.name).isSorted()", "true"),
    ("object.spec.containers.map(c, c.image).isSorted()", "false"),
    ("object.spec.containers.map(c, double(c.ports.size()) / 2.0).sum() == 1.0", "error: no such key: ports"),
    ("object.spec.containers.map(c, double(c.?ports.orValue([]).size()) / 2.0).sum() == 1.0", "true"),
    (
        "object.spec.containers[0].ports.map(p, p.containerPort).max() < object.spec.tolerations.map(t, t.?tolerationSeconds.orValue(10000)).max()",
        "true",
    ),
    ("object.spec.containers.map(c, c.name).indexOf('app') == 0", "true"),
    ("object.spec.containers.map(c, c.name).lastIndexOf('init') == -1", "true"),
    ("object.metadata.annotations.ports.findAll('[0-9]+').map(x, int(x)).sum() < 20000", "true"),
    // `*` matches nothing, too, and first where the text begins. Upstream's comments forget it, its code doesn't.
    ("'abc 123'.find('[0-9]*') == ''", "true"),
    ("'a1'.findAll('[0-9]*')", "[, 1]"),
    ("'1, 2'.findAll('[0-9]*').map(x, int(x)).sum()", "error: \"\" is no int"),
    ("object.spec.containers[0].image.find(':[^:]*$')", ":1.27"),
    ("url(object.metadata.annotations.homepage).getHost()", "shop.example:8443"),
    ("url(object.metadata.annotations.homepage).getEscapedPath()", "/a%20b"),
    ("url(object.metadata.annotations.homepage).getQuery()['team']", "[x, y]"),
    ("[1, 2, 3].first().value() == 1 && [1, 2, 3].last().value() == 3", "true"),
    ("[].first()", "none"),
    ("[].last()", "none"),
    ("object.spec.containers.first().name.orValue('')", "app"),
    ("[1, 2, [], [], [3, 4]].flatten()", "error: different types"),
    ("[dyn(1), 2, [], [], [3, 4]].flatten()", "[1, 2, 3, 4]"),
    ("[[1, 2], [3]].flatten(0)", "[[1, 2], [3]]"),
    ("[1, dyn('b'), 2, 'b'].distinct()", "[1, b, 2]"),
    ("[5, 3, 1, 2].reverse()", "[2, 1, 3, 5]"),
    ("[1, 2, 3, 4].slice(2, 4)", "[3, 4]"),
    ("[1, 2, 3, 4].slice(2, 2)", "[]"),
    ("lists.range(5)", "[0, 1, 2, 3, 4]"),
    ("object.spec.containers.sortBy(c, c.?ports.orValue([]).size()).map(c, c.name)", "[log, app]"),
    ("[timestamp('2026-01-01T00:00:00Z'), timestamp('2026-01-02T00:00:00Z')].isSorted()", "true"),
    (
        "[false, true].isSorted() && [b'a', b'b'].max() == b'b' && [duration('1m'), duration('2s')].min() == duration('2s')",
        "true",
    ),
    ("[1u, 2u].sum() == 3u && [1.5, 2.0].sum() == 3.5", "true"),
    ("sets.contains([], []) && !sets.contains([], [1]) && sets.contains([1, 2, 3, 4], [2, 3])", "true"),
    ("sets.contains([1, 2.0, 3u], [1.0, 2u, 3])", "error: different types"),
    ("sets.contains([dyn(1), 2.0, 3u], [dyn(1.0), 2u, 3])", "true"),
    (
        "sets.equivalent([], []) && sets.equivalent([1], [1, 1]) && sets.equivalent([1, 2, 3], [3, 2, 1])",
        "true",
    ),
    ("sets.equivalent([1], [1u])", "error: there is no sets.equivalent(list(int), list(uint))"),
    ("sets.intersects([1], [1, 2]) && !sets.intersects([1], [])", "true"),
    ("sets.intersects([[1], [2, 3]], [[1, 2], [2, 3]])", "true"),
];

pub(crate) const TEXTS_ARE_THOSE_OF_THE_STRING_EXTENSION: Cases = &[
    ("'hello'.charAt(6)", "error: index out of range: 6"),
    ("''.charAt(0) == ''", "true"),
    ("'hello mellow'.indexOf('', 20)", "20"),
    ("'hello mellow'.lastIndexOf('', 3)", "3"),
    ("'ta©o©αT'.indexOf('©', 3)", "4"),
    ("['hello', 'mellow'].join()", "hellomellow"),
    ("['hello', 'mellow'].join(' ')", "hello mellow"),
    ("''.split(',').size()", "1"),
    ("''.split('').size()", "0"),
    ("'abc'.split('', 0).size()", "0"),
    ("'a,b,'.split(',')", "[a, b, ]"),
    ("'tacocat'.substring(3, 3)", ""),
    ("'tacocat'.substring(9)", "error: index out of range: 9"),
    // A space of no width is none.
    ("'\\u00a0\\u200bx\\u2003'.trim().size()", "2"),
    ("'hello hello'.replace('', '_')", "_h_e_l_l_o_ _h_e_l_l_o_"),
    ("'hello'.replace('', '_', 2)", "_h_ello"),
    ("'banana'.replace('ana', '')", "bna"),
    ("strings.quote('single-quote with \"double quote\"')", "\"single-quote with \\\"double quote\\\"\""),
    ("strings.quote('two \\a\\n')", "\"two \\a\\n\""),
    ("'a string: %s\\nand an integer: %d'.format(['str', 42])", "a string: str\nand an integer: 42"),
    ("'%%s: %s'.format([64.2])", "%s: 64.2"),
    ("'%s'.format([[1, 2, dyn({'a': 'x', 'b': 'y'})]])", "[1, 2, {\"a\":\"x\", \"b\":\"y\"}]"),
    ("'%s - %s, %b'.format([true, false, true])", "true - false, 1"),
    ("'%d %d'.format([1])", "error: 2 clauses and 1 arguments"),
    ("'%d'.format([1, 2])", "error: 1 clauses and 2 arguments"),
    ("'gums'.reverse()", "error: there is no string.reverse()"),
];

pub(crate) const AMOUNTS_ARE_THOSE_OF_KUBERNETES: Cases = &[
    ("quantity('12Mi') == quantity('12582912')", "true"),
    ("quantity('10Mo')", "error: \"10Mo\" is no quantity"),
    ("quantity('10Mm')", "error: \"10Mm\" is no quantity"),
    ("quantity(dyn('10Mm'))", "error: \"10Mm\" is no quantity"),
    ("isQuantity('20') && isQuantity('20M') && isQuantity('20Mi')", "true"),
    ("isQuantity('20Mo') || isQuantity('10Mm')", "false"),
    ("isQuantity([1, 2, 3])", "error: there is no isQuantity(list(int))"),
    ("quantity('200M') == quantity('0.2G') && quantity('0.2G') == quantity('200M')", "true"),
    ("quantity('2M') == quantity('0.002G') && quantity('2000k') == quantity('2M')", "true"),
    ("quantity('200M') == quantity('0.3G')", "false"),
    ("quantity('50M').isLessThan(quantity('50Mi')) && !quantity('100M').isLessThan(quantity('50M'))", "true"),
    (
        "quantity('50Mi').isGreaterThan(quantity('50M')) && !quantity('50M').isGreaterThan(quantity('100M'))",
        "true",
    ),
    ("quantity('50k').add(quantity('20')) == quantity('50.02k')", "true"),
    ("quantity('50k').add(20).isLessThan(quantity('50020'))", "false"),
    ("quantity('50k').sub(quantity('20')) == quantity('49.98k')", "true"),
    ("quantity('50k').sub(20) == quantity('49980')", "true"),
    ("quantity('50k').add(20).sub(quantity('100k')).asInteger()", "-49980"),
    ("quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger()", "20"),
    ("quantity('50.703k').asApproximateFloat()", "50703"),
    ("quantity('500000G').isInteger() && quantity('50').isInteger()", "true"),
    ("quantity('-50k').sign() == -1 && quantity('0').sign() == 0", "true"),
    ("quantity('50k').add('20k')", "error: there is no quantity.add(string)"),
    ("type(quantity('1')) == kubernetes.Quantity", "true"),
    ("quantity('1') < quantity('2')", "error: isLessThan"),
];

pub(crate) const ADDRESSES_NETWORKS_AND_URLS_ARE_THOSE_OF_KUBERNETES: Cases = &[
    ("ip('192.168.0.1.0')", "error: is no IP address"),
    ("ip('2001:db8:::68')", "error: is no IP address"),
    (
        "isIP('192.168.0.1') && !isIP('192.168.0.1.0') && isIP('2001:db8::68') && !isIP('2001:db8:::68')",
        "true",
    ),
    ("ip.isCanonical('127.0.0.1.0')", "error: is no IP address"),
    ("ip.isCanonical('2001:DB8::68')", "false"),
    ("ip.isCanonical('2001:db8::68') && ip.isCanonical('127.0.0.1')", "true"),
    ("ip('192.168.0.1').family() == 4 && ip('2001:db8::68').family() == 6", "true"),
    ("ip('127.0.0.1').isUnspecified() || ip('::1').isUnspecified()", "false"),
    ("ip('1.2.3.4').isLoopback() || ip('2001:db8::abcd').isLoopback()", "false"),
    ("ip('fd00::1').isLinkLocalMulticast() || ip('fd80::1').isLinkLocalUnicast()", "false"),
    ("ip('192.168.0.1').isLinkLocalUnicast() || ip('ff00::1').isGlobalUnicast()", "false"),
    ("ip('2001:db8::abcd').isGlobalUnicast()", "true"),
    ("isIP(cidr('192.168.0.0/24'))", "error: there is no isIP(cidr)"),
    ("string(ip('192.168.0.1'))", "192.168.0.1"),
    ("type(ip('192.168.0.1')) == net.IP && type(cidr('192.168.0.0/24')) == net.CIDR", "true"),
    ("type(ip('192.168.0.1')) == net.CIDR", "false"),
    ("type(net.IP) == type && net.IP != string", "true"),
    ("has(net.IP)", "error: has() takes one field"),
    ("[object].all(net, type(object) == net.IP)", "false"),
    ("net.Ip", "error: there is no variable net"),
    ("cidr(192168)", "error: there is no cidr(int)"),
    ("cidr('192.168.0.0/')", "error: is no network"),
    ("cidr('2001:db8::/')", "error: is no network"),
    ("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/25'))", "true"),
    ("cidr('192.168.0.0/24').containsCIDR('192.168.0.0/23')", "false"),
    ("cidr('192.168.0.0/24').ip() == ip('192.168.0.0')", "true"),
    ("cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')", "true"),
    ("cidr('192.168.0.1/24') == cidr('192.168.0.0/24')", "false"),
    (
        "cidr('2001:db8::/32').containsIP('2001:db8::1') && !cidr('2001:db8::/32').containsIP(ip('2001:dc8::1'))",
        "true",
    ),
    (
        "cidr('2001:db8::/32').containsCIDR('2001:db8::/33') && !cidr('2001:db8::/32').containsCIDR('2001:db8::/31')",
        "true",
    ),
    ("string(cidr('2001:db8:1::/32').masked())", "2001:db8::/32"),
    (
        "object.spec.dnsConfig.nameservers.all(n, cidr('10.0.0.0/8').containsIP(n) || cidr('fd00::/8').containsIP(n))",
        "true",
    ),
    ("url('https://127.0.0.1:80/').getHostname()", "127.0.0.1"),
    ("url('/path').getHostname() + url('/path').getPort() + url('/path').getScheme()", ""),
    ("url('https://user:pass@example.com:80/path?query=val#fragment').getPort()", "80"),
    ("url('https://example.com/path').getQuery().size()", "0"),
    ("url('https://a:b:c/')", "error: is no URL"),
    ("type(url('/')) == kubernetes.URL", "true"),
];

pub(crate) const FORMATS_OF_NAMES_ARE_THOSE_OF_KUBERNETES: Cases = &[
    ("format.dns1123Label().validate('my-label-name')", "none"),
    ("format.dns1123Subdomain().validate('apiextensions.k8s.io')", "none"),
    ("format.qualifiedName().validate('apiextensions.k8s.io/v1beta1')", "none"),
    ("format.dns1123LabelPrefix().validate('my-label-prefix-')", "none"),
    // The letter that stands for a hyphen at the end also stands for what is before it.
    ("format.dns1123SubdomainPrefix().validate('mysubdomain.prefix.-')", "none"),
    ("format.dns1123LabelPrefix().validate('a_-')", "none"),
    ("format.dns1123LabelPrefix().validate('--')", "none"),
    ("format.dns1123LabelPrefix().validate('-').hasValue()", "true"),
    ("format.dns1123LabelPrefix().validate('ä-').hasValue()", "true"),
    ("format.dns1123Label().validate('my-label-prefix-').hasValue()", "true"),
    ("format.dns1035LabelPrefix().validate('my-label-prefix-')", "none"),
    ("format.dns1035LabelPrefix().validate('1-label-prefix-').hasValue()", "true"),
    ("format.dns1035Label().validate('my-label-name')", "none"),
    ("format.qualifiedName().validate('my.name')", "none"),
    ("format.uri().validate('http://example.com')", "none"),
    ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')", "none"),
    ("format.date().validate('2021-01-01')", "none"),
    ("format.datetime().validate('2021-01-01T00:00:00Z')", "none"),
    ("format.date().validate('2020-01-32').value()", "[invalid date]"),
    ("format.datetime().validate('2020-01-32T00:00:00Z').value()", "[invalid datetime]"),
    ("format.labelValue().validate('my-cool-label-Value')", "none"),
    ("format.labelValue().validate('my-cool-label-Value!!\\n\\n!!!').hasValue()", "true"),
    (
        "[format.dns1123Label(), format.dns1123Subdomain(), format.dns1035Label(), format.qualifiedName()].all(f, f.validate('contains a space').hasValue())",
        "true",
    ),
    (
        "['dns1123Label', 'dns1123LabelPrefix', 'dns1123Subdomain', 'dns1123SubdomainPrefix', 'dns1035Label', 'dns1035LabelPrefix', 'qualifiedName', 'labelValue', 'uri', 'uuid', 'date', 'datetime'].all(n, format.named(n).hasValue())",
        "true",
    ),
    ("format.named('dns1123Label').value() == format.dns1123Label()", "true"),
    ("format.date() == format.datetime()", "false"),
    ("format.named('unknown').hasValue()", "false"),
    ("type(format.uuid()) == kubernetes.NamedFormat", "true"),
    // A difference that the chapter names.
    ("format.byte().validate('aGVsbG8=')", "error: there is no function format.byte()"),
];

pub(crate) const OPTIONAL_VALUES_AND_MACROS_ARE_THOSE_OF_CEL: Cases = &[
    ("optional.of(b'hello').value() == b'hello'", "true"),
    ("optional.of(b'hello').hasValue() && !optional.ofNonZeroValue({}).hasValue()", "true"),
    ("optional.ofNonZeroValue({}).value()", "error: optional.none() has no value"),
    ("optional.ofNonZeroValue([1, 2, 3])", "optional([1, 2, 3])"),
    (
        "[optional.ofNonZeroValue([]), optional.ofNonZeroValue(dyn(0)), optional.ofNonZeroValue('')].all(o, !o.hasValue())",
        "true",
    ),
    ("!optional.ofNonZeroValue([]).hasValue() && !optional.ofNonZeroValue(0).hasValue()", "true"),
    ("optional.unwrap([optional.of(42), optional.none()]) == [42]", "true"),
    ("[optional.of(42), optional.none()].unwrapOpt()", "[42]"),
    ("optional.unwrap([1])", "error: there is no optional.unwrap(list(int))"),
    ("optional.unwrap([dyn(1)])", "error: takes optional values, not a int"),
    ("object.spec.?tolerations.optMap(t, t.size()).orValue(0)", "2"),
    ("object.spec.?volumes.optMap(v, v.size()).orValue(0)", "0"),
    ("object.spec.?tolerations.optFlatMap(t, t[?0]).key.orValue('')", "gpu"),
    ("object.spec.?tolerations.optFlatMap(t, t[?5])", "none"),
    ("object.metadata.labels[?'app'].or(object.metadata.labels[?'x']).value()", "web"),
    ("object.?metadata.labels.app.hasValue() && object.metadata.?labels[?'app'].hasValue()", "true"),
    ("{?'app': object.metadata.labels[?'app'], ?'x': object.metadata.labels[?'x']}", "{app: web}"),
    ("[?object.metadata.labels[?'app'], ?object.metadata.labels[?'x'], 'z']", "[web, z]"),
    ("[1, 2, 3].all(i, j, i < j)", "true"),
    ("{'hello': 'world', 'taco': 'taco'}.all(k, v, k != v)", "false"),
    (
        "{'greeting': 'hello', 'farewell': 'goodbye'}.exists(k, v, k.startsWith('good') || v.endsWith('bye'))",
        "true",
    ),
    ("[1, 2, 4, 8, 16].exists(i, v, v == 1024 && i == 10)", "false"),
    ("[1, 2, 1, 3, 1, 4].existsOne(i, v, i == 1 || v == 1)", "false"),
    ("[1, 1, 2, 2, 3, 3].exists_one(i, v, i == 2 && v == 2)", "true"),
    ("{'i': 0, 'j': 1, 'k': 2}.existsOne(i, v, i == 'l' || v == 1)", "true"),
    ("[1, 2, 3].transformList(i, v, (i * v) + v)", "[1, 4, 9]"),
    ("[1, 2, 3].transformList(i, v, i % 2 == 0, (i * v) + v)", "[1, 9]"),
    ("{'greeting': 'hello', 'farewell': 'goodbye'}.transformList(k, _, k).sort()", "[farewell, greeting]"),
    ("[1, 2, 3].transformMap(i, v, i % 2 == 0, (i * v) + v)", "{0: 1, 2: 9}"),
    ("{'greeting': 'hello'}.transformMap(k, v, v + '!')", "{greeting: hello!}"),
    ("[1, 2, 3].transformMapEntry(i, v, {v: i})", "{1: 0, 2: 1, 3: 2}"),
    (
        "{'greeting': 'aloha', 'farewell': 'aloha'}.transformMapEntry(k, v, {v: k})",
        "error: has the key \"aloha\" twice",
    ),
    (
        "type(duration('1s')) == google.protobuf.Duration && type(timestamp(0)) == google.protobuf.Timestamp",
        "true",
    ),
    ("uint('+5')", "error: \"+5\" is no uint"),
    ("int('+5') == 5 && int('-5') == -5", "true"),
];

/// All of them.
pub(crate) const ALL: [Cases; 8] = [
    RULES_OF_THE_DOCUMENTATION_HOLD_FOR_PODS,
    FURTHER_RULES_OF_THE_DOCUMENTATION_HOLD_FOR_PODS,
    LISTS_AND_PATTERNS_OF_THE_DOCUMENTATION_HOLD_FOR_PODS,
    TEXTS_ARE_THOSE_OF_THE_STRING_EXTENSION,
    AMOUNTS_ARE_THOSE_OF_KUBERNETES,
    ADDRESSES_NETWORKS_AND_URLS_ARE_THOSE_OF_KUBERNETES,
    FORMATS_OF_NAMES_ARE_THOSE_OF_KUBERNETES,
    OPTIONAL_VALUES_AND_MACROS_ARE_THOSE_OF_CEL,
];
