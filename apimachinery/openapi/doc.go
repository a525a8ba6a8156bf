// Package openapi describes API objects: documents of a whole server in OpenAPI v3 and v2 (JSON and
// protobuf), made from Go types and from the schemas of custom resources, and structural schemas that
// prune, default and validate custom objects.
//
// [Derive] makes the definition of a custom resource from a Go type, [DeriveVersions] one with several
// versions from several.
//
// [Documents] makes each document on first use and keeps its bytes; a scheme whose documents are never
// requested costs nothing. Validation of custom objects needs no server: see [Validate].
package openapi
