package validation

import "strings"

// Length limits of DNS names.
const (
	DNSLabelMaxLength     = 63
	DNSSubdomainMaxLength = 253
)

const (
	labelPattern           = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	labelPatternUnderscore = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
	label1035Pattern       = "[a-z]([-a-z0-9]*[a-z0-9])?"
	subdomainPattern       = labelPattern + `(\.` + labelPattern + ")*"
)

var subdomainText = PatternText("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", subdomainPattern, "example.com")

func isLabelByte(c byte) bool { return isLowerAlnum(c) || c == '-' }

func isLabel(s string) bool { return framed(s, isLowerAlnum, isLabelByte) }

func isLabelUnderscore(s string) bool {
	s = strings.TrimPrefix(s, "_")
	return framed(s, isLowerAlnum, func(c byte) bool { return isLabelByte(c) || c == '_' })
}

func isSubdomain(s string) bool { return dotted(s, isLabel) }

func tooLongText(s string, limit int) []string {
	if len(s) > limit {
		return []string{MaxLengthText(limit)}
	}
	return nil
}

// IsDNS1123Label checks a lower-case DNS label of at most 63 characters, the
// form of namespace names.
func IsDNS1123Label(s string) []string {
	if isLabel(s) {
		return tooLongText(s, DNSLabelMaxLength)
	}
	out := tooLongText(s, DNSLabelMaxLength)
	if isSubdomain(s) {
		return append(out, "must not contain dots")
	}
	return append(out, PatternText("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character", labelPattern, "my-name", "123-abc"))
}

// IsDNS1123Subdomain checks DNS labels joined by dots, at most 253 characters,
// the form of most object names. The labels themselves may be longer than 63.
func IsDNS1123Subdomain(s string) []string {
	out := tooLongText(s, DNSSubdomainMaxLength)
	if !isSubdomain(s) {
		out = append(out, subdomainText)
	}
	return out
}

// IsDNS1123SubdomainCaseless is IsDNS1123Subdomain with upper-case letters
// allowed, as in names of drivers.
func IsDNS1123SubdomainCaseless(s string) []string {
	out := tooLongText(s, DNSSubdomainMaxLength)
	if !isSubdomain(strings.ToLower(s)) {
		out = append(out, PatternText("an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", subdomainPattern, "Example.com"))
	}
	return out
}

// IsDNS1123SubdomainWithUnderscore is IsDNS1123Subdomain with underscores
// allowed where a DNS resolver's search list allows them.
func IsDNS1123SubdomainWithUnderscore(s string) []string {
	out := tooLongText(s, DNSSubdomainMaxLength)
	if !dotted(s, isLabelUnderscore) {
		out = append(out, PatternText("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character", labelPatternUnderscore+`(\.`+labelPatternUnderscore+")*", "example.com"))
	}
	return out
}

// IsDNS1035Label checks a DNS label that starts with a letter, the older form
// of service names.
func IsDNS1035Label(s string) []string {
	out := tooLongText(s, DNSLabelMaxLength)
	if !isLabel(s) || !isLower(s[0]) {
		out = append(out, PatternText("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character", label1035Pattern, "my-name", "abc-123"))
	}
	return out
}

// IsWildcardDNS1123Subdomain checks "*." followed by a DNS subdomain.
func IsWildcardDNS1123Subdomain(s string) []string {
	out := tooLongText(s, DNSSubdomainMaxLength)
	if rest, ok := strings.CutPrefix(s, "*."); !ok || !isSubdomain(rest) {
		out = append(out, PatternText("a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character", `\*\.`+subdomainPattern, "*.example.com"))
	}
	return out
}

// FullyQualifiedName checks a DNS subdomain of three or more parts.
func FullyQualifiedName(p *Path, s string) ErrorList {
	if s == "" {
		return ErrorList{Required(p, "")}
	}
	if messages := IsDNS1123Subdomain(s); messages != nil {
		return ErrorList{Invalid(p, s, strings.Join(messages, ","))}
	}
	if strings.Count(s, ".") < 2 {
		return ErrorList{Invalid(p, s, "should be a domain with at least three segments separated by dots")}
	}
	return nil
}

// FullyQualifiedDomainName checks a DNS name of two or more labels of at most 63
// characters each; a dot may end it.
func FullyQualifiedDomainName(p *Path, s string) ErrorList {
	if s == "" {
		return ErrorList{Required(p, "")}
	}
	s = strings.TrimSuffix(s, ".")
	if messages := IsDNS1123Subdomain(s); messages != nil {
		return ErrorList{Invalid(p, s, strings.Join(messages, ","))}
	}
	if !strings.Contains(s, ".") {
		return ErrorList{Invalid(p, s, "should be a domain with at least two segments separated by dots")}
	}
	for label := range strings.SplitSeq(s, ".") {
		if messages := IsDNS1123Label(label); messages != nil {
			return ErrorList{Invalid(p, label, strings.Join(messages, ","))}
		}
	}
	return nil
}

// DomainPrefixedPath checks "host/path", as in "acme.io/foo".
func DomainPrefixedPath(p *Path, s string) ErrorList {
	if s == "" {
		return ErrorList{Required(p, "")}
	}
	host, path, _ := strings.Cut(s, "/")
	if host == "" || path == "" {
		return ErrorList{Invalid(p, s, `must be a domain-prefixed path (such as "acme.io/foo")`)}
	}
	out := InvalidEach(p, host, IsDNS1123Subdomain(host))
	if !each(path, isURLPathByte) {
		out = append(out, Invalid(p, path, PatternText("Invalid path", urlPathPattern)))
	}
	return out
}

const urlPathPattern = `[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`

func isURLPathByte(c byte) bool { return isAlnum(c) || strings.IndexByte(`/-._~%!$&'()*+,;=:`, c) >= 0 }

// DomainPrefixedKey checks "domain/name", both parts as in a label key.
func DomainPrefixedKey(p *Path, s string) ErrorList {
	if s == "" {
		return ErrorList{Required(p, "")}
	}
	if out := InvalidEach(p, s, IsQualifiedName(s)); out != nil {
		return out
	}
	if !strings.Contains(s, "/") {
		return ErrorList{Invalid(p, s, `must be a domain-prefixed key (such as "acme.io/foo")`)}
	}
	return nil
}
