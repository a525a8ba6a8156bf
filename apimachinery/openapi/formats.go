package openapi

import (
	"encoding/base64"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// KnownFormat reports whether values are checked against the format. Others are allowed and have no effect.
func KnownFormat(format string) bool {
	_, ok := formats[format]
	return ok
}

// hasFormat reports whether text has the format, or the format is unknown.
func hasFormat(format, text string) bool {
	check, ok := formats[format]
	return !ok || check(text)
}

var (
	uuidPattern     = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)
	uuidVersion     = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?([345])[0-9a-f]{3}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{12}$`)
	hexColor        = regexp.MustCompile(`^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)
	rgbColor        = regexp.MustCompile(`^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$`)
	socialSecurity  = regexp.MustCompile(`^\d{3}[- ]?\d{2}[- ]?\d{4}$`)
	objectID        = regexp.MustCompile(`^[0-9a-fA-F]{24}$`)
	hostnamePattern = regexp.MustCompile(`^(?i)([a-z0-9](-?[a-z0-9]{0,62})?|([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63})$`)
	durationPattern = regexp.MustCompile(`^\d+(\.\d+)?\s*(ns|us|µs|ms|s|sec|secs|m|min|mins|h|hr|hrs|hour|hours|d|day|days|w|wk|wks|week|weeks|second|seconds|minute|minutes|milli|millis|millisecond|milliseconds|micro|micros|microsecond|microseconds|nano|nanos|nanosecond|nanoseconds)$`)
)

var formats = map[string]func(string) bool{
	"bsonobjectid": objectID.MatchString,
	"uri":          isURI,
	"email":        isEmail,
	"hostname":     func(s string) bool { return len(s) < 256 && hostnamePattern.MatchString(s) },
	"ipv4": func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	},
	"ipv6": func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	},
	"cidr":       func(s string) bool { _, _, err := net.ParseCIDR(s); return err == nil },
	"mac":        func(s string) bool { _, err := net.ParseMAC(s); return err == nil },
	"uuid":       uuidPattern.MatchString,
	"uuid3":      func(s string) bool { return uuidOf(s, "3", "") },
	"uuid4":      func(s string) bool { return uuidOf(s, "4", "89ab") },
	"uuid5":      func(s string) bool { return uuidOf(s, "5", "89ab") },
	"isbn":       func(s string) bool { return isISBN10(s) || isISBN13(s) },
	"isbn10":     isISBN10,
	"isbn13":     isISBN13,
	"creditcard": isCreditCard,
	"ssn":        socialSecurity.MatchString,
	"hexcolor":   hexColor.MatchString,
	"rgbcolor":   rgbColor.MatchString,
	"byte": func(s string) bool {
		_, err := base64.StdEncoding.DecodeString(s)
		return err == nil
	},
	"password":       func(string) bool { return true },
	"date":           func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"duration":       isDuration,
	"datetime":       isDateTime,
	"date-time":      isDateTime,
	"k8s-short-name": func(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 },
	"k8s-long-name":  func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 },
}

func isURI(s string) bool {
	_, err := url.ParseRequestURI(s)
	return err == nil
}

func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address != ""
}

func isDateTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

func isDuration(s string) bool {
	if _, err := time.ParseDuration(s); err == nil {
		return true
	}
	return durationPattern.MatchString(strings.ToLower(s))
}

func uuidOf(s, version, variant string) bool {
	m := uuidVersion.FindStringSubmatch(s)
	return m != nil && m[1] == version && (variant == "" || strings.Contains(variant, strings.ToLower(m[2])))
}

// digits removes spaces and hyphens; where allowed, a final X means ten.
func digits(s string, allowX bool) []int {
	var out []int
	for i, r := range s {
		switch {
		case r == ' ' || r == '-':
		case r >= '0' && r <= '9':
			out = append(out, int(r-'0'))
		case allowX && (r == 'X' || r == 'x') && i == len(s)-1:
			out = append(out, 10)
		default:
			return nil
		}
	}
	return out
}

func isISBN10(s string) bool {
	d := digits(s, true)
	sum := 0
	for i, n := range d {
		sum += (10 - i) * n
	}
	return len(d) == 10 && sum%11 == 0
}

func isISBN13(s string) bool {
	d := digits(s, false)
	sum := 0
	for i, n := range d {
		sum += n * (1 + 2*(i%2))
	}
	return len(d) == 13 && sum%10 == 0
}

func isCreditCard(s string) bool {
	d := digits(s, false)
	sum := 0
	for i, n := range d {
		if (len(d)-i)%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return len(d) >= 12 && len(d) <= 19 && sum%10 == 0
}
