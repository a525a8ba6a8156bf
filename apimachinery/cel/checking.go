package cel

import (
	"sync"

	"github.com/google/cel-go/cel"
)

// Checking returns the environment in which expressions of policies are checked against types: that of
// [Admission], but request and namespaceObject have types, and object, oldObject, params and variables are
// missing, for the caller to declare with theirs. If authorizer is false that variable is missing too, as in
// expressions of messages. Each is created once, on first use.
func Checking(authorizer bool) (*cel.Env, error) {
	if authorizer {
		return checkingAuthorizer()
	}
	return checking()
}

var checkingAuthorizer = sync.OnceValues(func() (*cel.Env, error) {
	base, err := checking()
	if err != nil {
		return nil, err
	}
	return base.Extend(authorizerVariables()...)
})

var checking = sync.OnceValues(func() (*cel.Env, error) {
	base, err := Env()
	if err != nil {
		return nil, err
	}
	return base.Extend(append(authorizerTypes(), cel.CustomTypeProvider(requestTypes().Over(base.CELTypeProvider())),
		cel.Variable("request", cel.ObjectType(requestType)), cel.Variable("namespaceObject", cel.ObjectType(namespaceType)))...)
})

const (
	known         = "kubernetes."
	requestType   = known + "AdmissionRequest"
	namespaceType = known + "Namespace"
)

// requestTypes are the types of the variables that every policy has.
func requestTypes() Objects {
	text, number, moment, texts := cel.StringType, cel.IntType, cel.TimestampType, cel.ListType(cel.StringType)
	object := func(name string) *cel.Type { return cel.ObjectType(known + name) }
	return Objects{
		requestType: {
			"kind": object("GroupVersionKind"), "resource": object("GroupVersionResource"), "subResource": text,
			"requestKind": object("GroupVersionKind"), "requestResource": object("GroupVersionResource"), "requestSubResource": text,
			"name": text, "namespace": text, "operation": text, "userInfo": object("UserInfo"), "dryRun": cel.BoolType, "options": cel.DynType,
		},
		known + "GroupVersionKind":     {"group": text, "version": text, "kind": text},
		known + "GroupVersionResource": {"group": text, "version": text, "resource": text},
		known + "UserInfo":             {"username": text, "uid": text, "groups": texts, "extra": cel.MapType(text, texts)},
		namespaceType:                  {"metadata": object("NamespaceMetadata"), "spec": object("NamespaceSpec"), "status": object("NamespaceStatus")},
		// The field is named uid here. Policies cannot read owners and managed fields.
		known + "NamespaceMetadata": {
			"name": text, "generateName": text, "namespace": text, "labels": cel.MapType(text, text), "annotations": cel.MapType(text, text), "UID": text,
			"creationTimestamp": moment, "deletionGracePeriodSeconds": number, "deletionTimestamp": moment, "generation": number,
			"resourceVersion": text, "finalizers": texts,
		},
		known + "NamespaceSpec":      {"finalizers": texts},
		known + "NamespaceStatus":    {"conditions": cel.ListType(object("NamespaceCondition")), "phase": text},
		known + "NamespaceCondition": {"status": text, "type": text, "lastTransitionTime": moment, "message": text, "reason": text},
	}
}
