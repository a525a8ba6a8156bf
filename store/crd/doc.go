// Package crd serves custom resources: it watches CustomResourceDefinitions, decides whose names are
// accepted, and adds to the server's registry and OpenAPI documents a resource for every served version of
// every accepted definition.
//
// A resource is served as soon as its definition is stored: the first request for it waits for the controller
// if necessary ([Controller.Settle]). The objects of a deleted definition are deleted with it: the resource
// refuses new ones, and the definition is removed after the last one.
//
// Versions of a resource are converted by changing apiVersion only (strategy None), or by the webhook that
// the definition names ([Webhook]).
package crd
