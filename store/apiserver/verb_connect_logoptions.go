package apiserver

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// checkConnectOptions refuses invalid options of a subresource of the pod called name. It runs before the pod
// is read, as upstream.
func checkConnectOptions(subresource, name string, q url.Values) error {
	switch subresource {
	case "log":
		o, err := logOptions(q)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if errs := validateLogOptions(o); len(errs) > 0 {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, name, errs)
		}
	case "portforward":
		for _, text := range q["ports"] {
			if _, err := strconv.ParseUint(text, 10, 16); err != nil {
				return apierrors.NewBadRequest("cannot convert to []int32: " + err.Error())
			}
		}
	}
	return nil
}

// logOptions reads the parameters of a request for a log.
func logOptions(q url.Values) (*corev1.PodLogOptions, error) {
	o := &corev1.PodLogOptions{}
	for name, to := range map[string]**int64{"sinceSeconds": &o.SinceSeconds, "tailLines": &o.TailLines, "limitBytes": &o.LimitBytes} {
		if text := q.Get(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, err
			}
			*to = &n
		}
	}
	if text := q.Get("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, err
		}
		o.SinceTime = &metav1.Time{Time: at}
	}
	if text := q.Get("stream"); text != "" {
		o.Stream = &text
	}
	return o, nil
}

// logStreams are the values of stream.
var logStreams = []string{"All", "Stderr", "Stdout"}

func validateLogOptions(o *corev1.PodLogOptions) (errs validation.ErrorList) {
	least := func(name string, v *int64, least int64, text string) {
		if v != nil && *v < least {
			errs = append(errs, validation.Invalid(validation.NewPath(name), *v, text))
		}
	}
	least("tailLines", o.TailLines, 0, "must be greater than or equal to 0")
	least("limitBytes", o.LimitBytes, 1, "must be greater than 0")
	if o.SinceSeconds != nil && o.SinceTime != nil {
		errs = append(errs, validation.Forbidden((*validation.Path)(nil).Key(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	} else {
		least("sinceSeconds", o.SinceSeconds, 1, "must be greater than 0")
	}
	if o.Stream != nil {
		errs = append(errs, validateStream(*o.Stream, o.TailLines != nil)...)
	}
	return errs
}

func validateStream(stream string, tail bool) validation.ErrorList {
	path := validation.NewPath("stream")
	for _, known := range logStreams {
		if stream != known {
			continue
		}
		if tail && stream != "All" {
			return validation.ErrorList{validation.Forbidden(path, fmt.Sprintf("tailLines cannot be used with the stream %s alone", stream))}
		}
		return nil
	}
	return validation.ErrorList{validation.NotSupported(path, stream, logStreams)}
}
