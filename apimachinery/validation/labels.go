package validation

import "strings"

// Length limits of label keys and values.
const (
	QualifiedNameMaxLength = 63
	LabelValueMaxLength    = 63
)

const qualifiedNamePattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

func isNameByte(c byte) bool { return isAlnum(c) || c == '-' || c == '_' || c == '.' }

func isName(s string) bool { return framed(s, isAlnum, isNameByte) }

func nameText(what string) string {
	return PatternText(what+" must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character", qualifiedNamePattern, "MyName", "my.name", "123-abc")
}

// IsQualifiedName checks a label or annotation key: a name of at most 63
// characters, optionally with a DNS subdomain and a slash in front.
func IsQualifiedName(s string) []string {
	prefix, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		name = prefix
	} else if strings.Contains(name, "/") {
		return []string{nameText("a valid label key") + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}
	}
	var out []string
	if prefixed {
		if prefix == "" {
			out = append(out, "prefix part "+EmptyText)
		} else if len(prefix) > DNSSubdomainMaxLength || !isSubdomain(prefix) {
			out = append(out, prefixTexts(prefix)...)
		}
	}
	if name == "" {
		out = append(out, "name part "+EmptyText)
	} else if len(name) > QualifiedNameMaxLength {
		out = append(out, "name part "+maxBytesText(QualifiedNameMaxLength))
	}
	if !isName(name) {
		out = append(out, nameText("name part"))
	}
	return out
}

// prefixTexts says what is wrong with the prefix of a key. Its length is counted in bytes, as all lengths of
// keys and values of labels are.
func prefixTexts(prefix string) []string {
	var out []string
	if len(prefix) > DNSSubdomainMaxLength {
		out = append(out, "prefix part "+maxBytesText(DNSSubdomainMaxLength))
	}
	if !isSubdomain(prefix) {
		out = append(out, "prefix part "+subdomainText)
	}
	return out
}

// IsLabelValue checks the value of a label: empty, or at most 63 characters.
func IsLabelValue(s string) []string {
	var out []string
	if len(s) > LabelValueMaxLength {
		out = append(out, maxBytesText(LabelValueMaxLength))
	}
	if s != "" && !isName(s) {
		out = append(out, PatternText("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character", "("+qualifiedNamePattern+")?", "MyValue", "my_value", "12345"))
	}
	return out
}
