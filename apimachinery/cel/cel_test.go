package cel_test

import (
	"fmt"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/cel"
)

func eval(t testing.TB, expression string) (any, error) {
	t.Helper()
	env, err := cel.Env()
	require.NoError(t, err)
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	p, err := env.Program(ast, cel.ProgramOptions()...)
	if err != nil {
		return nil, err
	}
	v, _, err := p.Eval(celgo.NoVars())
	if err != nil {
		return nil, err
	}
	return v.Value(), nil
}

// Every expression is true.
func TestFunctions(t *testing.T) {
	for _, e := range []string{
		`[1, 2, 2, 3].isSorted()`, `!['b', 'a'].isSorted()`, `[].isSorted()`, `[1, 2, 3].sum() == 6`, `[1.5, 2.5].sum() == 4.0`,
		`[duration('1m'), duration('1s')].sum() == duration('1m1s')`, `[3, 1, 2].min() == 1`, `['a', 'c', 'b'].max() == 'c'`,
		`[1, 2, 2].indexOf(2) == 1`, `[1, 2, 2].lastIndexOf(2) == 2`, `[1].indexOf(5) == -1`,
		`'abc 123'.find('[0-9]+') == '123'`, `'1 a 2'.findAll('[0-9]') == ['1', '2']`, `'1 a 2'.findAll('[0-9]', 1) == ['1']`,
		`url('https://user@example.com:80/p%20q?a=1&a=2').getHost() == 'example.com:80'`, `url('https://example.com:80/').getHostname() == 'example.com'`,
		`url('https://example.com:80/').getPort() == '80'`, `url('https://e.com/p%20q').getEscapedPath() == '/p%20q'`, `url('https://e.com/?a=1&a=2').getQuery()['a'] == ['1', '2']`,
		`isURL('https://e.com')`, `!isURL('no url')`, `url('/path').getScheme() == ''`,
		`ip('127.0.0.1').isLoopback()`, `ip('::1').family() == 6`, `isIP('1.2.3.4')`, `!isIP('1.2.3')`, `ip.isCanonical('::1')`, `!ip.isCanonical('::0:1')`, `ip('1.2.3.4') == ip('1.2.3.4')`,
		`string(ip('1.2.3.4')) == '1.2.3.4'`, `!isIP('::ffff:1.2.3.4')`,
		`cidr('10.0.0.0/8').containsIP('10.1.2.3')`, `cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))`, `cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')`, `!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))`,
		`cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')`, `cidr('10.0.0.0/8').prefixLength() == 8`, `cidr('10.0.0.0/8').ip() == ip('10.0.0.0')`, `isCIDR('1.2.3.0/24')`,
		`quantity('1Gi').isGreaterThan(quantity('1G'))`, `quantity('1500m').compareTo(quantity('1.5')) == 0`, `quantity('1') == quantity('1000m')`, `quantity('1').add(quantity('500m')) == quantity('1.5')`,
		`quantity('10').sub(3).asInteger() == 7`, `quantity('50k').isInteger()`, `!quantity('500m').isInteger()`, `isQuantity('1Gi')`, `!isQuantity('1GiB')`, `sign(quantity('-1')) == -1`, `quantity('1.5').asApproximateFloat() == 1.5`,
		`semver('1.2.3').isLessThan(semver('1.10.0'))`, `semver('1.0.0-alpha.1').compareTo(semver('1.0.0')) == -1`, `semver('v1.2', true).minor() == 2`, `isSemver('1.2.3-a+b')`, `!isSemver('v1')`, `isSemver('v01.2', true)`,
		`format.dns1123Label().validate('ok') == optional.none()`, `format.dns1123Label().validate('No_').hasValue()`, `format.named('uuid').value().validate('x').hasValue()`, `!format.named('none').hasValue()`,
		`sets.contains([1, 2], [2])`, `'a,b'.split(',') == ['a', 'b']`, `optional.of(1).orValue(2) == 1`, `1 < 2.5`, `timestamp('2026-01-02T03:04:05Z').getFullYear() == 2026`, `'x'.upperAscii() == 'X'`,
		`[3, 1, 2].sort() == [1, 2, 3]`, `['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb']`, `[1, 1, 2].distinct() == [1, 2]`, `[1, 2, 3].slice(1, 3) == [2, 3]`, `[[1], [2]].flatten() == [1, 2]`, `lists.range(3) == [0, 1, 2]`,
	} {
		v, err := eval(t, e)
		require.NoError(t, err, e)
		require.Equal(t, true, v, e)
	}
}

func TestErrors(t *testing.T) {
	for _, e := range []string{`url('no url').getHost() == ''`, `ip('x').family() == 4`, `cidr('x').prefixLength() == 1`, `sign(quantity('x')) == 1`, `semver('1').major() == 1`, `quantity('1.5').asInteger() == 1`, `'a'.find('(') == ''`} {
		_, err := eval(t, e)
		require.Error(t, err, e)
	}
}

func TestCostLimit(t *testing.T) {
	_, err := eval(t, `[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a+b+c+d+e))))).size() == 10`)
	require.ErrorContains(t, err, "cost limit")
}

func FuzzCompile(f *testing.F) {
	f.Add(`quantity('1').add(2) == ip('1.2.3.4')`)
	f.Fuzz(func(t *testing.T, e string) {
		if len(e) < 500 {
			_, _ = eval(t, e)
		}
	})
}

func ExampleEnv() {
	env, _ := cel.Env()
	ast, _ := env.Compile(`quantity('1Gi').isGreaterThan(quantity('500Mi'))`)
	program, _ := env.Program(ast, cel.ProgramOptions()...)
	v, _, _ := program.Eval(celgo.NoVars())
	fmt.Println(v)
	// Output: true
}
