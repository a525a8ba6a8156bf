package workload

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// objectTemplate is a file that makes objects: text/template with .Index and .Count.
type objectTemplate struct {
	path string
	text *template.Template
}

func readTemplate(path string) (*objectTemplate, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, err := template.New("object").Funcs(arithmetic).Option("missingkey=error").Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &objectTemplate{path: path, text: text}, nil
}

// decode makes object index of count, strictly, in obj, which is a pointer to its type.
func (t *objectTemplate) decode(obj any, index, count int) error {
	var b bytes.Buffer
	if err := t.text.Execute(&b, map[string]any{"Index": index, "Count": count}); err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	data := b.Bytes()
	issues, err := codec.UnmarshalYAML(data, obj, codec.DecodeOptions{Strict: true})
	for err == nil && slices.ContainsFunc(issues, capital) {
		if data, err = renamed(data, issues); err == nil {
			reflect.ValueOf(obj).Elem().SetZero() // of what was decoded before
			issues, err = codec.UnmarshalYAML(data, obj, codec.DecodeOptions{Strict: true})
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	var errs []error
	for _, i := range issues {
		errs = append(errs, fmt.Errorf("%s: %v", t.path, i))
	}
	return errors.Join(errs...)
}

// capital reports an unknown field that begins with a capital letter.
func capital(i codec.FieldIssue) bool {
	name := i.Path[strings.LastIndexByte(i.Path, '.')+1:]
	return i.Kind == codec.UnknownField && name != "" && unicode.IsUpper(rune(name[0]))
}

// renamed returns the object with the names of such fields in lower case: scheduler_perf reads names whatever
// their case, and its own files rely on that.
func renamed(data []byte, issues []codec.FieldIssue) ([]byte, error) {
	var tree any
	if _, err := codec.UnmarshalYAML(data, &tree, codec.DecodeOptions{}); err != nil {
		return nil, err
	}
	for _, i := range issues {
		if !capital(i) {
			continue
		}
		at := tree
		path := steps(i.Path)
		for _, step := range path[:len(path)-1] {
			switch v := at.(type) {
			case map[string]any:
				at = v[step]
			case []any:
				if n, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && n < len(v) {
					at = v[n]
				}
			}
		}
		if fields, ok := at.(map[string]any); ok {
			name := path[len(path)-1]
			fields[strings.ToLower(name[:1])+name[1:]] = fields[name]
			delete(fields, name)
		}
	}
	return codec.Marshal(tree)
}

// arithmetic are the functions that templates call. Numbers may be given as text.
var arithmetic = template.FuncMap{
	"AddFloat":      add,
	"AddInt":        whole(add),
	"MultiplyFloat": multiply,
	"MultiplyInt":   whole(multiply),
	"SubtractFloat": func(a, b any) (float64, error) { return two(a, b, func(x, y float64) float64 { return x - y }) },
	"SubtractInt":   func(a, b any) (int, error) { return rounded(two(a, b, func(x, y float64) float64 { return x - y })) },
	"DivideFloat":   divide,
	"DivideInt":     func(a, b any) (int, error) { return rounded(divide(a, b)) },
	"Mod": func(a, b any) (int, error) {
		x, err := rounded(number(a))
		y, err2 := rounded(number(b))
		if err := errors.Join(err, err2); err != nil {
			return 0, err
		}
		if y == 0 {
			return 0, errors.New("division by zero")
		}
		return x % y, nil
	},
}

func whole(f func(...any) (float64, error)) func(...any) (int, error) {
	return func(args ...any) (int, error) { return rounded(f(args...)) }
}

func rounded(f float64, err error) (int, error) { return int(f), err }

func number(v any) (float64, error) {
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return 0, fmt.Errorf("%v is no number", v)
	}
	return f, nil
}

func two(a, b any, f func(x, y float64) float64) (float64, error) {
	x, err := number(a)
	if err != nil {
		return 0, err
	}
	y, err := number(b)
	return f(x, y), err
}

func add(numbers ...any) (sum float64, err error) {
	for _, v := range numbers {
		if sum, err = two(sum, v, func(x, y float64) float64 { return x + y }); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func multiply(numbers ...any) (product float64, err error) {
	product = 1
	for _, v := range numbers {
		if product, err = two(product, v, func(x, y float64) float64 { return x * y }); err != nil {
			return 0, err
		}
	}
	return product, nil
}

func divide(a, b any) (float64, error) {
	y, err := number(b)
	if err != nil {
		return 0, err
	}
	if y == 0 {
		return 0, errors.New("division by zero")
	}
	return two(a, y, func(x, y float64) float64 { return x / y })
}
