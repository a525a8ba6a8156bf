package interop

import (
	"fmt"
	"math"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/keelson-dev/keelson/apimachinery/cel"
)

// expressions use every function of every library, on valid and on invalid values.
var expressions = []string{
	// lists
	`[1, 2, 2, 3].isSorted()`, `['b', 'a'].isSorted()`, `[].isSorted()`, `[true, false].isSorted()`, `l.isSorted()`, `[1, 2, 3].sum()`, `[1.5, 2.5].sum()`, `[].sum() == 0`,
	`[duration('1m'), duration('1s')].sum()`, `[3, 1, 2].min()`, `['a', 'c', 'b'].max()`, `l.max()`, `[].max() == 1`, `[1].min()`, `[1, 2, 2].indexOf(2)`, `[1, 2, 2].lastIndexOf(2)`, `[1].indexOf(5)`, `l.indexOf('bb')`, `l.lastIndexOf('zz')`, `['a'].sum()`,
	`[3, 1, 2].sort()`, `['bb', 'a'].sortBy(x, x.size())`, `[1, 1, 2].distinct()`, `[1, 2, 3].slice(1, 3)`, `[[1], [2]].flatten()`, `lists.range(3)`, `l.reverse()`, `l.sort()`, `l.distinct()`, `[1].first()`, `l.last()`, `'hello'.indexOf('l')`, `s.indexOf('l')`,
	// regex
	`s.find('[a-z]+')`, `s.findAll('[a-z]+')`, `'1 a 2 b 3'.findAll('[0-9]')`, `'1 a 2'.findAll('[0-9]', 1)`, `'1 2'.findAll('[0-9]', -1)`, `'1 2'.findAll('[0-9]', 0)`, `s.find('(')`, `s.matches('^h.*o')`, `s.matches('[')`,
	// urls
	`isURL('https://e.com')`, `isURL('no url')`, `isURL(s)`, `isURL('/rel')`, `isURL('//e.com/x')`, `isURL('mailto:a@b')`, `url('https://user@example.com:80/p%20q?a=1&a=2&b').getHost()`, `url('https://[::1]:80/').getHostname()`, `url('https://e.com:80/').getPort()`, `url('https://e.com').getPort()`,
	`url('https://e.com/p%20q').getEscapedPath()`, `url('https://e.com/?a=1&a=2').getQuery()`, `url('/path').getScheme()`, `url('no url').getHost()`, `url('https://a.b') == url('https://a.b')`, `url(s).getScheme()`, `string(url('https://a.b/c'))`,
	// addresses
	`isIP('1.2.3.4')`, `isIP('1.2.3')`, `isIP('::ffff:1.2.3.4')`, `isIP('fe80::1%eth0')`, `isIP('01.2.3.4')`, `isIP(s)`, `ip('127.0.0.1').isLoopback()`, `ip('::1').family()`, `ip('1.2.3.4').family()`, `ip('x').family()`, `ip.isCanonical('::1')`, `ip.isCanonical('::0:1')`, `ip.isCanonical('x')`, `ip('1.2.3.4') == ip('1.2.3.4')`, `string(ip('2001:DB8::1'))`,
	`ip('0.0.0.0').isUnspecified()`, `ip('169.254.1.1').isLinkLocalUnicast()`, `ip('224.0.0.1').isLinkLocalMulticast()`, `ip('8.8.8.8').isGlobalUnicast()`, `isCIDR('1.2.3.0/24')`, `isCIDR('1.2.3.4/24')`, `isCIDR('1.2.3.0')`, `isCIDR('1.2.3.0/33')`, `cidr('10.0.0.0/8').containsIP('10.1.2.3')`, `cidr('10.0.0.0/8').containsIP(ip('11.1.2.3'))`, `cidr('10.0.0.0/8').containsIP('x')`,
	`cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')`, `cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))`, `cidr('10.0.0.0/8').containsCIDR('y')`, `cidr('10.0.0.0/8').containsCIDR('::/0')`, `cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')`, `cidr('10.0.0.0/8').prefixLength()`, `string(cidr('10.0.0.0/8').ip())`, `string(cidr('10.1.2.3/8'))`, `cidr('x').prefixLength()`,
	// quantities
	`isQuantity('1Gi')`, `isQuantity('1GiB')`, `isQuantity('')`, `quantity('1Gi').isGreaterThan(quantity('1G'))`, `quantity('1').isLessThan(quantity('1'))`, `quantity('1500m').compareTo(quantity('1.5'))`, `quantity('1') == quantity('1000m')`, `quantity('1').add(quantity('500m')) == quantity('1.5')`, `quantity('1').add(2) == quantity('3')`,
	`quantity('10').sub(3).asInteger()`, `quantity('1.5').asInteger()`, `quantity('50k').isInteger()`, `quantity('500m').isInteger()`, `quantity('9999999999999999999999').isInteger()`, `sign(quantity('-1'))`, `sign(quantity('0'))`, `quantity('0').sign()`, `quantity('1.5').asApproximateFloat()`, `sign(quantity('x'))`, `sign(quantity(s))`,
	// versions
	`isSemver('1.2.3')`, `isSemver('1.2')`, `isSemver('v1.2.3')`, `isSemver('1.2.3-a.1+b')`, `isSemver('01.2.3')`, `isSemver('v1.2', true)`, `isSemver('v01.2', true)`, `isSemver('1.2.3.4', true)`, `semver('1.2.3').isLessThan(semver('1.10.0'))`, `semver('2.0.0').isGreaterThan(semver('1.10.0'))`, `semver('1.0.0-alpha.1').compareTo(semver('1.0.0'))`, `semver('1.0.0+a') == semver('1.0.0+b')`,
	`semver('v1.2', true).minor()`, `semver('1.2.3').major()`, `semver('1.2.3').patch()`, `semver('1').major()`,
	// formats
	`format.dns1123Label().validate('ok').hasValue()`, `format.dns1123Label().validate('No_').hasValue()`, `format.dns1123Subdomain().validate('a..b').hasValue()`, `format.dns1035Label().validate('1a').hasValue()`, `format.qualifiedName().validate('a/b/c').hasValue()`, `format.dns1123LabelPrefix().validate('a-').hasValue()`, `format.dns1035LabelPrefix().validate('a-').hasValue()`, `format.labelValue().validate('-').hasValue()`,
	`format.uri().validate('https://a').hasValue()`, `format.uri().validate('x').hasValue()`, `format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()`, `format.byte().validate('%').hasValue()`, `format.date().validate('2026-02-30').hasValue()`, `format.datetime().validate('2026-02-03T04:05:06Z').hasValue()`, `format.named('uuid').value().validate('x').hasValue()`, `format.named('none').hasValue()`, `format.dns1123SubdomainPrefix().validate(s).hasValue()`,
	// sets, strings, optionals, two-variable comprehensions, times
	`sets.contains([1, 2], [2])`, `sets.equivalent([1, 2], [2, 1, 1])`, `sets.intersects(l, ['bb'])`, `'a,b'.split(',')`, `' x '.trim()`, `s.upperAscii()`, `s.replace('l', 'L')`, `s.substring(1, 3)`, `s.substring(9, 30)`, `s.charAt(0)`, `l.join('-')`, `s.lastIndexOf('l')`, `'%s has %d'.format([s, i])`, `strings.quote(s)`, `s.reverse()`,
	`optional.of(1).orValue(2)`, `optional.none().hasValue()`, `optional.ofNonZeroValue('').hasValue()`, `{'a': 1}[?'b'].orValue(5)`, `l[?9].hasValue()`, `optional.of(i).optMap(x, x + 1).value()`, `[?optional.of(1), ?optional.none()].size()`, `l.all(n, v, v.size() > n)`, `l.exists(n, v, v == 'a' && n == 0)`, `{'a': 1, 'b': 2}.transformList(k, v, v).sum()`, `l.transformMap(n, v, v.size()).size()`,
	`1 < 2.5`, `timestamp('2026-01-02T03:04:05Z').getFullYear()`, `timestamp('2026-01-02T23:04:05Z').getDayOfMonth('America/New_York')`, `duration('1h') > duration('59m')`, `timestamp('x').getFullYear()`, `l.map(x, x.size()).filter(n, n > 1).size()`, `l.exists_one(x, x == 'a')`, `s.startsWith('he') && s.endsWith('o') && s.contains('ll')`, `i / 0 == 1`, `i % 2`, `9223372036854775807 + i`, `int('12') + int(3.7)`, `'a' + string(i)`, `'a' + string(i) + s`, `string(1.5) + string(true)`, `string(duration('1s')) + s`, `string(3.5)`, `bytes(s).size()`, `b'abc' == bytes('abc')`, `type(s) == string`, `size(s) == s.size()`, `dyn(1) == 1.0`, `l + ['x'] == ['a', 'bb', 'ccc', 'x']`, `'a' in l`, `has({'a': 1}.a)`, `s == s ? 1 : 2`, `cel.bind(x, s + s, x + x).size()`, `math.greatest(1, 2)`, `authorizer.path('/').check('get').allowed()`,
	// expressions that do not compile
	`s.nope()`, `i + s`, `[1, 'a']`, `quantity(1)`, `duration('never')`, `s.matches('[') || true`, `timestamp('never')`, `{'a': 1, 'b': 'c'}`, `unknown`, `1 +`, `l.all(x, y)`,
}

func inputs() map[string]any {
	return map[string]any{"s": "hello", "i": 7, "l": []string{"a", "bb", "ccc"}}
}

func variables() []celgo.EnvOption {
	return []celgo.EnvOption{celgo.Variable("s", celgo.StringType), celgo.Variable("i", celgo.IntType), celgo.Variable("l", celgo.ListType(celgo.StringType))}
}

// upstreamEnv returns the environment in which the newest server compiles rules of custom resources.
func upstreamEnv(t *testing.T) *celgo.Env {
	t.Helper()
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables()})
	require.NoError(t, err)
	env, err := set.Env(environment.NewExpressions)
	require.NoError(t, err)
	return env
}

// outcome is the result of an expression: that it does not compile, or its value or error, and its cost.
type outcome struct {
	compiles, runs bool
	value          string
	cost           uint64
	worst          checker.CostEstimate
}

func outcomeOf(t *testing.T, env *celgo.Env, expression string, estimator checker.CostEstimator, options ...celgo.ProgramOption) outcome {
	t.Helper()
	compiled, issues := env.Compile(expression)
	if issues.Err() != nil {
		return outcome{}
	}
	o := outcome{compiles: true}
	var err error
	o.worst, err = env.EstimateCost(compiled, estimator)
	require.NoError(t, err)
	program, err := env.Program(compiled, options...)
	if err != nil {
		return o
	}
	v, details, err := program.Eval(inputs())
	if cost := details.ActualCost(); cost != nil {
		o.cost = *cost
	}
	if o.runs = err == nil; o.runs {
		o.value = plainText(v)
	}
	return o
}

// plainText formats a value so that equal values of either side's types have equal strings.
func plainText(v ref.Val) string {
	if s := v.ConvertToType(types.StringType); !types.IsError(s) {
		return v.Type().TypeName() + " " + fmt.Sprint(s.Value())
	}
	if l, ok := v.(traits.Lister); ok {
		text := "list"
		for it := l.Iterator(); it.HasNext() == types.True; {
			text += ", " + plainText(it.Next())
		}
		return text
	}
	return v.Type().TypeName()
}

// bounded bounds the size of the variables.
type bounded struct{ checker.CostEstimator }

func sizes(path []string) *checker.SizeEstimate {
	switch path[0] {
	case "s":
		return &checker.SizeEstimate{Max: 100}
	case "l":
		if len(path) > 1 {
			return &checker.SizeEstimate{Max: 50}
		}
		return &checker.SizeEstimate{Max: 20}
	}
	return nil
}

func (b bounded) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	if len(n.Path()) > 0 {
		return sizes(n.Path())
	}
	return nil
}

// Every function of the Kubernetes libraries compiles or not, gives the same value or fails, and costs as
// much, estimated and counted, as upstream's.
func TestExpressionsAsUpstream(t *testing.T) {
	theirs := upstreamEnv(t)
	base, err := cel.Env()
	require.NoError(t, err)
	mine, err := base.Extend(variables()...)
	require.NoError(t, err)
	for _, e := range expressions {
		t.Run(e, func(t *testing.T) {
			want := outcomeOf(t, theirs, e, &library.CostEstimator{SizeEstimator: bounded{}}, celgo.EvalOptions(celgo.OptOptimize, celgo.OptTrackCost), celgo.CostTracking(&library.CostEstimator{}), celgo.CostLimit(math.MaxUint64))
			got := outcomeOf(t, mine, e, cel.Estimator{Sizes: sizes}, cel.ProgramOptions()...)
			require.Equal(t, want, got)
		})
	}
}
