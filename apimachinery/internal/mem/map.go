package mem

import "reflect"

// MapsAlike says that maps whose types differ in the names of their key and value types only, such as
// map[Name]string and map[string]string, may be seen as one another, and that the length of a map is found
// without its type. Where it is false, such maps are for package reflect, with which codec's
// BenchmarkEncodeJSON and those of protobuf take 18% longer.
var MapsAlike = !Safe && checkMaps()

// IsMapOf reports whether a map of type t may be seen as a map[string]V.
func IsMapOf[V any](t reflect.Type) bool {
	elem := reflect.TypeFor[V]()
	if t.Kind() != reflect.Map || t.Key().Kind() != reflect.String {
		return false
	}
	same := t.Elem() == elem || elem.Kind() == reflect.String && t.Elem().Kind() == reflect.String
	return same && (MapsAlike || t.Key() == reflect.TypeFor[string]() && t.Elem() == elem)
}

type checkedKey string

func checkMaps() bool {
	numbers := map[int]int{1: 1, 2: 2, 3: 3}
	if MapLen(Pointer(&numbers)) != 3 {
		return false
	}
	named := map[checkedKey]string{"a": "1"}
	plain := *(*map[string]string)(Pointer(&named))
	plain["b"] = "2"
	delete(plain, "a")
	var absent map[checkedKey]string
	return len(named) == 1 && named["b"] == "2" && plain["b"] == "2" && MapLen(Pointer(&absent)) == 0
}

// MapLen is the length of the map of any type at p, if [MapsAlike].
func MapLen(p Pointer) int { return len(*(*map[string]struct{})(p)) }

// MapLenOf is the length of the map at p, of the type of model.
func MapLenOf(model reflect.Value, p Pointer) int {
	if MapsAlike {
		return MapLen(p)
	}
	return Value(model, p).Len()
}
