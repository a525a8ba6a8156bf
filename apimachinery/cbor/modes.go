package cbor

import (
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// maxNesting is how deep items may be nested: as deep as JSON may.
const maxNesting = 10000

// modes are the library's settings, made on first use.
type modes struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

var settings = sync.OnceValue(func() modes {
	enc, err := cbor.EncOptions{
		Sort:          cbor.SortBytewiseLexical,
		ShortestFloat: cbor.ShortestFloat16,
		NaNConvert:    cbor.NaNConvertReject,
		InfConvert:    cbor.InfConvertReject,
		IndefLength:   cbor.IndefLengthForbidden,
		String:        cbor.StringToByteString, // servers do not promise UTF-8, which text strings would
	}.EncMode()
	if err != nil {
		panic(err) // the options above contradict each other: no input can cause it
	}
	dec, err := cbor.DecOptions{
		DupMapKey:             cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:       maxNesting,
		MaxArrayElements:      1<<31 - 1, // the library checks lengths against the input before it allocates
		MaxMapPairs:           1<<31 - 1,
		IntDec:                cbor.IntDecConvertSignedOrFail,
		MapKeyByteString:      cbor.MapKeyByteStringForbidden, // they are taken as strings, see below
		DefaultMapType:        reflect.TypeFor[map[string]any](),
		UTF8:                  cbor.UTF8RejectInvalid,
		DefaultByteStringType: reflect.TypeFor[string](),
		ByteStringToString:    cbor.ByteStringToStringAllowedWithExpectedLaterEncoding,
		UnrecognizedTagToAny:  cbor.UnrecognizedTagContentToAny,
		TimeTagToAny:          cbor.TimeTagToRFC3339Nano,
		BignumTag:             cbor.BignumTagForbidden,
		NaN:                   cbor.NaNDecodeForbidden,
		Inf:                   cbor.InfDecodeForbidden,
		SimpleValues:          jsonValues(),
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return modes{enc, dec}
})

// jsonValues are the simple values JSON has: false (20), true (21) and null (22).
func jsonValues() *cbor.SimpleValueRegistry {
	var refused []func(*cbor.SimpleValueRegistry) error
	for v := range 256 {
		if reserved := v >= 24 && v < 32; reserved || v >= 20 && v <= 22 {
			continue
		}
		refused = append(refused, cbor.WithRejectedSimpleValue(cbor.SimpleValue(v)))
	}
	values, err := cbor.NewSimpleValueRegistryFromDefaults(refused...)
	if err != nil {
		panic(err) // as above
	}
	return values
}
