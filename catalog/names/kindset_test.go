package names_test

import (
	"encoding/json"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestTheKindsThatNeedAMarkAreInTheRecord(t *testing.T) {
	for kinds, want := range map[names.Kinds]string{0: "{}", names.BothKinds: `{"marked":true}`, 1 << names.ConfigMap: `{"marked":"configmap"}`, 1 << names.Secret: `{"marked":"secret"}`} {
		encoded, err := json.Marshal(template.Filter{Marked: kinds})
		if err != nil || string(encoded) != want {
			t.Errorf("encoded %s, %v, want %s", encoded, err, want)
		}
		var decoded template.Filter
		if err := json.Unmarshal(encoded, &decoded); err != nil || decoded.Marked != kinds {
			t.Errorf("%s: decoded %+v, %v", encoded, decoded, err)
		}
	}
	for _, other := range []string{`"secretproviderclass"`, `"x"`, `""`, "1", "{}"} {
		var decoded template.Filter
		if err := json.Unmarshal([]byte(`{"marked":`+other+`}`), &decoded); err == nil {
			t.Errorf("%s: decoded %+v", other, decoded)
		}
	}
}
