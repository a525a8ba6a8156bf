package validation

import "strings"

// IsCIdentifier checks an identifier of the C language.
func IsCIdentifier(s string) []string {
	if each(s, func(c byte) bool { return isAlnum(c) || c == '_' }) && !isDigit(s[0]) {
		return nil
	}
	return []string{PatternText("a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'", "[A-Za-z_][A-Za-z0-9_]*", "my_name", "MY_NAME", "MyName")}
}

// IsEnvVarName is the strict check of the name of an environment variable.
func IsEnvVarName(s string) []string {
	var out []string
	if !each(s, isNameByte) || isDigit(s[0]) {
		out = append(out, PatternText("a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit", "[-._a-zA-Z][-._a-zA-Z0-9]*", "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
	}
	return append(out, dotsText(s)...)
}

// IsRelaxedEnvVarName allows all printable ASCII but '='.
func IsRelaxedEnvVarName(s string) []string {
	if s == "" {
		return []string{"environment variable name " + EmptyText}
	}
	if !each(s, func(c byte) bool { return ' ' <= c && c <= '~' && c != '=' }) {
		return []string{"a valid environment variable name must consist only of printable ASCII characters other than '='"}
	}
	return nil
}

// IsConfigMapKey checks a key of a ConfigMap or Secret.
func IsConfigMapKey(s string) []string {
	out := tooLongText(s, DNSSubdomainMaxLength)
	if !each(s, isNameByte) {
		out = append(out, PatternText("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", "[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name"))
	}
	return append(out, dotsText(s)...)
}

// dotsText refuses names that would escape the directory if used as a file name.
func dotsText(s string) []string {
	switch {
	case s == ".", s == "..":
		return []string{"must not be '" + s + "'"}
	case strings.HasPrefix(s, ".."):
		return []string{"must not start with '..'"}
	}
	return nil
}

// IsHTTPHeaderName checks the name of an HTTP header.
func IsHTTPHeaderName(s string) []string {
	if each(s, func(c byte) bool { return isAlnum(c) || c == '-' }) {
		return nil
	}
	return []string{PatternText("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name")}
}

// IsPercent checks a percentage: digits followed by '%'.
func IsPercent(s string) []string {
	if digits, ok := strings.CutSuffix(s, "%"); ok && each(digits, isDigit) {
		return nil
	}
	return []string{PatternText("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%")}
}

// IsPathSegmentName checks a name that can be one segment of a URL path: the
// widest form of object names, such as those of roles.
func IsPathSegmentName(s string) []string {
	if s == "." || s == ".." {
		return []string{"may not be '" + s + "'"}
	}
	return IsPathSegmentPrefix(s)
}

// IsPathSegmentPrefix checks what a path segment may start with.
func IsPathSegmentPrefix(s string) []string {
	var out []string
	for _, c := range []string{"/", "%"} {
		if strings.Contains(s, c) {
			out = append(out, "may not contain '"+c+"'")
		}
	}
	return out
}

// IsConditionReason checks the reason of a condition.
func IsConditionReason(s string) []string {
	const edges, pattern = "_", "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
	inner := func(c byte) bool { return isAlnum(c) || c == '_' || c == ',' || c == ':' }
	if each(s, inner) && (isLower(s[0]) || isUpper(s[0])) {
		if last := s[len(s)-1]; isAlnum(last) || last == '_' {
			return nil
		}
	}
	return []string{PatternText("a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '"+edges+"'", pattern, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")}
}
