package codectest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

type named string
type flag bool
type number int16

type upper string

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }

func (u *upper) UnmarshalText(b []byte) error {
	*u = upper(strings.ToLower(string(b)))
	return nil
}

type celsius struct{ Degrees int }

func (c celsius) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprintf(` { "deg" : %d , "note":"<&>" } `, c.Degrees)), nil
}

func (c *celsius) UnmarshalJSON(b []byte) error {
	var m struct {
		Deg int `json:"deg"`
	}
	err := json.Unmarshal(b, &m)
	c.Degrees = m.Deg
	return err
}

type maybe struct{ Set bool }

func (m maybe) IsZero() bool { return !m.Set }

type Inner struct {
	Name   string `json:"name"`
	Shadow int    `json:"shadow"`
	Deep
}

type Deep struct {
	Level  int    `json:"level,omitempty"`
	Shadow string `json:"shadow"`
}

type Ptr struct {
	Via *int `json:"via,omitempty"`
}

// Shape has every kind of field the codec knows.
type Shape struct {
	Inner  `json:",inline"`
	*Ptr   `json:",inline"`
	Tagged Deep  `json:"tagged"`
	Bool   bool  `json:"bool,omitempty"`
	Flag   *flag `json:"flag,omitempty"`
	I8     int8  `json:"i8,omitempty"`
	I16    number
	I32    int32               `json:"i32"`
	I64    int64               `json:"i64,omitempty"`
	Int    int                 `json:"int,string"`
	U8     uint8               `json:"u8"`
	U16    uint16              `json:"u16,omitempty"`
	U32    uint32              `json:"u32,string,omitempty"`
	U64    uint64              `json:"u64"`
	F32    float32             `json:"f32"`
	F64    float64             `json:"f64,omitempty"`
	Str    string              `json:"str,omitempty"`
	Quoted string              `json:"quoted,string"`
	Named  named               `json:"named"`
	Bytes  []byte              `json:"bytes,omitempty"`
	Array  [3]int              `json:"array"`
	None   [0]int              `json:"none,omitempty"`
	List   []named             `json:"list"`
	Lists  [][]int32           `json:"lists,omitempty"`
	Ptrs   []*string           `json:"ptrs,omitempty"`
	Map    map[string]string   `json:"map,omitempty"`
	NMap   map[named]named     `json:"nmap"`
	IMap   map[int32]*Deep     `json:"imap,omitempty"`
	SMap   map[string][]Deep   `json:"smap,omitempty"`
	TMap   map[upper]bool      `json:"tmap,omitempty"`
	BMap   map[string][]byte   `json:"bmap,omitempty"`
	Upper  upper               `json:"upper,omitempty"`
	Temp   celsius             `json:"temp"`
	TempP  *celsius            `json:"tempP,omitempty"`
	Maybe  maybe               `json:"maybe,omitzero"`
	ZeroS  Deep                `json:"zeroS,omitzero"`
	ZeroT  time.Time           `json:"zeroT,omitzero"`
	ZeroP  *maybe              `json:"zeroP,omitzero"`
	When   time.Time           `json:"when"`
	Raw    json.RawMessage     `json:"raw,omitempty"`
	Num    json.Number         `json:"num,omitempty"`
	Any    any                 `json:"any,omitempty"`
	Self   *Shape              `json:"self,omitempty"`
	Hidden string              `json:"-"`
	Dash   string              `json:"-,"` //nolint:staticcheck // a field named "-", which the codec must handle
	Odd    string              `json:"odd name<&>"`
	Micro  metav1.MicroTime    `json:"micro"`
	Port   intstr.IntOrString  `json:"port"`
	Size   resource.Quantity   `json:"size"`
	Ext    metav1.RawExtension `json:"ext"`
	Funny  string              `json:"\"bad\""` //nolint:staticcheck // a tag that encoding/json ignores
	lower  int                 //nolint:unused // an unexported field, which the codec must skip
}
