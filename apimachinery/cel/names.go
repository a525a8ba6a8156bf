package cel

import (
	"regexp"
	"slices"
	"strings"
)

// reserved words of the language, which cannot be field names.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "package",
	"namespace", "null", "return", "true", "var", "void", "while",
}

// escapes is made once: it costs more than a name takes to replace.
var escapes = strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__")

// Escape makes an identifier of a property name: what cannot be in one is written as __dot__ and the like.
func Escape(name string) string {
	if Reserved(name) {
		return "__" + name + "__"
	}
	return escapes.Replace(name)
}

// Reserved reports whether a word is one of the language, which Escape puts between underscores.
func Reserved(word string) bool { return slices.Contains(reserved, word) }

// escaped is what Escape writes for a character or a word.
var escaped = regexp.MustCompile(`__[^_]+__`)

// unescapes are the characters by what Escape writes for them.
var unescapes = map[string]string{"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}

// Unescape returns the property name that an identifier stands for, which is often the identifier itself;
// false if it has an escape that is not one of Escape.
func Unescape(identifier string) (name string, ok bool) {
	if !strings.Contains(identifier, "__") {
		return identifier, true
	}
	ok = true
	name = escaped.ReplaceAllStringFunc(identifier, func(e string) string {
		if text, known := unescapes[e]; known {
			return text
		}
		ok = ok && e == identifier && Reserved(e[2:len(e)-2])
		return e[2 : len(e)-2]
	})
	if !ok {
		return "", false
	}
	return name, true
}
