package sbom

import (
	"runtime/debug"
	"testing"
)

func TestAModuleIsKnownByWhatReplacesItUnlessThatIsADirectory(t *testing.T) {
	for want, module := range map[string]debug.Module{
		"example.com/m@v1.0.0":      {Path: "example.com/m", Version: "v1.0.0"},
		"example.com/other@v2.0.0":  {Path: "example.com/m", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/other", Version: "v2.0.0"}},
		"example.com/sibling@1.2.3": {Path: "example.com/sibling", Version: "v0.0.0", Replace: &debug.Module{Path: "..", Version: "(devel)"}},
	} {
		if name, at := identify(&module, "1.2.3"); name+"@"+at != want {
			t.Errorf("%+v is %s@%s, want %s", module, name, at, want)
		}
	}
}
