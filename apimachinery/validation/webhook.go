package validation

import (
	"fmt"
	"net/url"
	"strings"
)

// WebhookURL checks the URL of a webhook: its scheme must be https, it must have a host, and no user, query
// or fragment.
func WebhookURL(p *Path, text string) ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return ErrorList{Required(p, "url must be a valid URL: "+err.Error()+form)}
	}
	var errs ErrorList
	refuse := func(bad bool, value, detail string) {
		if bad {
			errs = append(errs, Invalid(p, value, detail))
		}
	}
	refuse(u.Scheme != "https", u.Scheme, "'https' is the only allowed URL scheme"+form)
	refuse(u.Host == "", u.Host, "host must be specified"+form)
	refuse(u.User != nil, "", "user information is not permitted in the URL") // may be secret
	refuse(u.Fragment != "", u.Fragment, "fragments are not permitted in the URL")
	refuse(u.RawQuery != "", u.RawQuery, "query parameters are not permitted in the URL")
	return errs
}

// WebhookService checks the reference at p to the service of a webhook. A nil path or port stands for the
// default.
func WebhookService(p *Path, name, namespace string, path *string, port *int32) ErrorList {
	var errs ErrorList
	if name == "" {
		errs = append(errs, Required(p.Child("name"), ""))
	}
	if namespace == "" {
		errs = append(errs, Required(p.Child("namespace"), ""))
	}
	if port != nil {
		if bad := IsPortNumber(int64(*port)); len(bad) > 0 {
			errs = append(errs, Invalid(p.Child("port"), *port, "port is not valid: "+strings.Join(bad, ", ")))
		}
	}
	if path == nil {
		return errs
	}
	return append(errs, webhookPath(p.Child("path"), *path)...)
}

func webhookPath(p *Path, text string) ErrorList {
	switch {
	case text == "" || text == "/":
		return nil
	case text == "//":
		return ErrorList{Invalid(p, text, "segment[0] may not be empty")}
	}
	var errs ErrorList
	if text[0] != '/' {
		errs = append(errs, Invalid(p, text, "must start with a '/'"))
	}
	for i, step := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		if step == "" {
			errs = append(errs, Invalid(p, text, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, bad := range IsDNS1123Subdomain(step) {
			errs = append(errs, Invalid(p, text, fmt.Sprintf("segment[%d]: %s", i, bad)))
		}
	}
	return errs
}
