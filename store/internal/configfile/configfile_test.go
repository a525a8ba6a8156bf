package configfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/internal/configfile"
)

type thing struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Rules      []rule `json:"rules"`
}

type rule struct {
	Level string `json:"level"`
	Count int    `json:"count"`
}

func TestErrorsNameLineAndField(t *testing.T) {
	kind := configfile.Kind{Kind: "Thing", Versions: []string{"example.com/v1"}}
	const head = "apiVersion: example.com/v1\nkind: Thing\n"
	for text, want := range map[string]string{
		"":                          `want kind Thing of example.com/v1, got kind "" of ""`,
		"kind: Thing":               `want kind Thing of example.com/v1, got kind "Thing" of ""`,
		head + "rules:\n- level: a": "",
		head + "rules:\n- level: a\n- level: b\n  colour: red\n":  `Thing: line 6: unknown field "rules[1].colour"`,
		head + "rules:\n- level: a\n- count: many\n":              `Thing: line 5: rules[1].count: `,
		head + "rules:\n- level: a\n- level: bad\n- level: bad\n": "Thing: line 5: rules[1].level: Required value: no\nThing: line 6: rules[2].level: Required value: no",
		head + "rules:\n- &x {level: bad}\n- *x\n":                "Thing: line 4: rules[0].level: Required value: no\nThing: line 4: rules[1].level: Required value: no",
		head + "rules: [{level: a}]\nrules: []\n":                 `Thing: line 4: key "rules" already set in map`,
		"{": "Thing: ",
	} {
		var v thing
		err := configfile.Read([]byte(text), kind, &v, func() (errs validation.ErrorList) {
			for i, r := range v.Rules {
				if r.Level == "bad" {
					errs = append(errs, validation.Required(validation.NewPath("rules").Index(i).Child("level"), "no"))
				}
			}
			return errs
		})
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}
