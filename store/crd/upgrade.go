package crd

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// earlierVersion is the version at which kube-apiserver stores definitions, up to 1.36 at least: what all
// versions of a resource have in common is written once, beside them.
const earlierVersion = "apiextensions.k8s.io/v1beta1"

// Upgrade returns the stored JSON form of a CustomResourceDefinition at v1, which it has already unless
// kube-apiserver has stored it.
func Upgrade(value []byte) ([]byte, error) {
	if !bytes.Contains(value, []byte(earlierVersion)) {
		return value, nil
	}
	var d map[string]any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber() // limits in schemas keep their digits
	if err := decoder.Decode(&d); err != nil {
		return nil, err
	}
	spec, ok := d["spec"].(map[string]any)
	if d["apiVersion"] != earlierVersion || !ok {
		return value, nil
	}
	d["apiVersion"] = "apiextensions.k8s.io/v1"
	if err := upgradeVersions(spec); err != nil {
		return nil, err
	}
	if conversion, ok := spec["conversion"].(map[string]any); ok {
		upgradeConversion(conversion)
	}
	if _, given := spec["preserveUnknownFields"]; !given {
		spec["preserveUnknownFields"] = true
	}
	return json.Marshal(d)
}

// upgradeVersions moves what versions have in common to each of them.
func upgradeVersions(spec map[string]any) error {
	versions, _ := spec["versions"].([]any)
	if name := spec["version"]; len(versions) == 0 && name != nil {
		versions = []any{map[string]any{"name": name, "served": true, "storage": true}}
		spec["versions"] = versions
	}
	for _, one := range versions {
		version, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("crd: spec.versions has %T", one)
		}
		for from, to := range map[string]string{
			"subresources": "subresources", "validation": "schema",
			"additionalPrinterColumns": "additionalPrinterColumns", "selectableFields": "selectableFields",
		} {
			if common := spec[from]; common != nil {
				version[to] = common
			}
		}
		columns, _ := version["additionalPrinterColumns"].([]any)
		for _, one := range columns {
			if column, ok := one.(map[string]any); ok {
				rename(column, "JSONPath", "jsonPath") // once for each version that shares it
			}
		}
	}
	for _, name := range []string{"version", "subresources", "validation", "additionalPrinterColumns", "selectableFields"} {
		delete(spec, name)
	}
	return nil
}

// upgradeConversion moves the description of a webhook to a field of its own.
func upgradeConversion(conversion map[string]any) {
	webhook := map[string]any{}
	for from, to := range map[string]string{"webhookClientConfig": "clientConfig", "conversionReviewVersions": "conversionReviewVersions"} {
		if value, ok := conversion[from]; ok {
			webhook[to] = value
			delete(conversion, from)
		}
	}
	if len(webhook) > 0 {
		conversion["webhook"] = webhook
	}
}

// rename moves a value of an object to another name.
func rename(object map[string]any, from, to string) {
	if value, ok := object[from]; ok {
		object[to] = value
		delete(object, from)
	}
}
