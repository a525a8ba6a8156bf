// Package crd serves custom resources: it watches CustomResourceDefinitions, decides whose names are
// accepted, and adds to the server's registry and OpenAPI documents a resource for every served version of
// every accepted definition.
//
// A resource is served as soon as its definition is stored: the first request for it waits for the loop if it
// has to ([Controller.Settle]). A definition that is deleted takes its objects along: the resource refuses
// new ones, those there are get deleted, and when all are gone the definition goes.
//
// Versions of a resource are converted by changing apiVersion only (strategy None), or by asking the webhook
// the definition names ([Webhook]).
package crd
