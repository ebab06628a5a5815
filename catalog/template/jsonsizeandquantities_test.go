package template

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

func TestQuantitiesThatTakeLongToDecodeAreRefused(t *testing.T) {
	const container = `{"spec":{"containers":[{"resources":{"limits":{"cpu":%s}}}]}}`
	for _, quantity := range []string{
		`"1e-2147483648"`, `"123456789012345678901234567890e99999999"`, `1e-2147483648`, `"1\u0065-2147483648"`,
		`"` + strings.Repeat("9", 100_000) + `"`, `"0.` + strings.Repeat("0", 100) + `1"`,
		`"1e-2147483648","cpu":"1"`, `[["1e-2147483648"]]`,
	} {
		if err := CheckQuantities(fmt.Appendf(nil, container, quantity)); err == nil || !strings.Contains(err.Error(), `"limits"`) || strings.Contains(err.Error(), "2147") {
			t.Errorf("%.60s: got %v", quantity, err)
		}
	}
	deep := strings.Repeat(`{"a":`, 100_000) + `"1e-2147483648"` + strings.Repeat("}", 100_000)
	if err := CheckQuantities([]byte(deep)); err == nil {
		t.Error("nested deeply: no error")
	}
}

func TestUsualTemplatesPassTheCheckOfQuantities(t *testing.T) {
	for _, template := range []string{
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"100m","memory":"1.5Gi"},"requests":{"cpu":2,"memory":"1e9"}}}]}}`,
		`{"spec":{"containers":[{"env":[{"name":"COMMIT","value":"12e45678"}],"image":"web@sha256:` + strings.Repeat("9e2345678", 7) + `"}]}}`,
		`{"spec":{"containers":[{"args":["\u003c","1e-2147483648"],"resources":{"limits":{"cpu":"1"}}}]}}`,
	} {
		if err := CheckQuantities([]byte(template)); err != nil {
			t.Errorf("%s: %v", template, err)
		}
	}
}

func TestJSONThatTakesFarMoreMemoryThanItsTextIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		isHeavy bool
		refused string
	}{
		"a template":                  {`{"spec":{"containers":[{"name":"a","args":["1,2,3"]}]}}`, false, ""},
		"nothing":                     {"", false, ""},
		"a long text":                 {`"` + strings.Repeat(",[{", 90_000) + `"`, true, ""},
		"a text with quotes":          {`["` + strings.Repeat(`\",\\\",[`, 20_001) + `"]`, false, ""},
		"many variables":              {`{"env":[{"name":"A","value":"1"}` + strings.Repeat(`,{"name":"A","value":"1"}`, 9_900) + `]}`, true, ""},
		"as many items as can be":     {`[1` + strings.Repeat(",1", 19_999) + `]`, true, ""},
		"one more":                    {`[1` + strings.Repeat(",1", 20_000) + `]`, true, "too many values"},
		"empty objects":               {`[{}` + strings.Repeat(",{}", 480_000) + `]`, true, "too many values"},
		"nothings":                    {`[null` + strings.Repeat(", null", 200_000) + `]`, true, "too many values"},
		"as many members as can be":   {`{"a":1` + strings.Repeat(`,"a":1`, 99_999) + `}`, true, ""},
		"one member more":             {`{"a":1` + strings.Repeat(`,"a":1`, 100_000) + `}`, true, "too many values"},
		"lists beside each other":     {`{"a":[` + strings.Repeat(`1,`, 10_000) + `1],"b":[` + strings.Repeat("1,", 10_000) + `1]}`, true, "too many values"},
		"something deep":              {strings.Repeat("[", 101) + strings.Repeat("]", 101), true, "nested too deeply"},
		"something as deep as can be": {strings.Repeat("[", 100) + strings.Repeat("]", 100), false, ""},
		"ends without begins":         {strings.Repeat("]}", 200) + `[1` + strings.Repeat(",1", 20_000), true, "too many values"},
		"many small ones, one by one": {strings.Repeat(`{"a":[1]}`, 10_000), true, ""},
	} {
		isHeavy, err := CheckSize([]byte(c.text))
		if isHeavy != c.isHeavy || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: heavy %t, %v", name, isHeavy, err)
		}
	}
	if _, err := CheckSize([]byte(`[1`+strings.Repeat(",1", 12_000)), []byte(`[1`+strings.Repeat(",1", 12_000))); err == nil {
		t.Error("two parts of one object are too many together, but pass")
	}
}

// These regular expressions take long for some texts.
func TestSuspiciousTextsAreFoundAsRegularExpressionsFindThem(t *testing.T) {
	exponent, suspicious := regexp.MustCompile(`[eE][-+]?[0-9]{4}`), regexp.MustCompile(`[eE][-+]?[0-9]{4}|[0-9.]{50}|\\u`)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"1", "23", "4567", ".", "e", "E", "+", "-", "x", `\`, "u", strings.Repeat("8", 47), strings.Repeat(".", 24),
		})).Draw(t, "parts")
		text := strings.Join(parts, "")
		if want := exponent.MatchString(text); hasHugeExponent(text) != want {
			t.Fatalf("%s: a huge exponent, not %t", text, want)
		}
		if want := suspicious.MatchString(text); scanOf([]byte(text)).isSuspicious != want {
			t.Fatalf("%s: suspicious, not %t", text, want)
		}
	})
}

// A later version of the API may have more of them.
func TestAllFieldsWithQuantitiesAreKnown(t *testing.T) {
	found, seen := make(map[string]bool), make(map[reflect.Type]bool)
	var visit func(reflect.Type, string)
	visit = func(of reflect.Type, field string) {
		switch {
		case of == reflect.TypeFor[resource.Quantity]():
			found[field] = true
			return
		case of.Kind() == reflect.Pointer, of.Kind() == reflect.Slice, of.Kind() == reflect.Map:
			visit(of.Elem(), field)
			return
		case of.Kind() != reflect.Struct || seen[of]:
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			member := of.Field(i)
			name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
			visit(member.Type, name)
		}
	}
	visit(reflect.TypeFor[corev1.PodTemplateSpec](), "")
	if diff := cmp.Diff(quantityFields, found); diff != "" {
		t.Errorf("-known +found:\n%s", diff)
	}
}
