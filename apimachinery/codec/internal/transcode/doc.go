// Package transcode converts protobuf to JSON without a Go value in between.
//
// For a type whose members are known from its plan, the members are looked up in the message and written in
// the order of JSON. What is unusual, in the type or in a message, is decoded and encoded instead.
package transcode
