package main

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"runtime/debug"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials lists the modules that the go command linked into the binary, as it noted them there, the standard
// library, and the module that the image's certificates come from.
func billOfMaterials(of description, b binary) (*cyclonedx.BOM, error) {
	info, err := buildinfo.Read(bytes.NewReader(b.content))
	if err != nil {
		return nil, err
	}
	self := component(cyclonedx.ComponentTypeApplication, info.Main.Path, of.version)
	parts := []cyclonedx.Component{
		component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go")),
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, component(cyclonedx.ComponentTypeLibrary, module.Path, module.Version))
	}
	if authorities := moduleOfAuthorities(); authorities != nil {
		parts = append(parts, component(cyclonedx.ComponentTypeData, authorities.Path, authorities.Version))
	}

	references := make([]string, len(parts))
	for i := range parts {
		references[i] = parts[i].BOMRef
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Timestamp: of.created.Format(time.RFC3339), Component: &self}
	bill.Components = &parts
	bill.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &references}}
	return bill, nil
}

// component describes a Go module. Its package URL, by which scanners find known vulnerabilities, is its identity, too.
func component(kind cyclonedx.ComponentType, module, version string) cyclonedx.Component {
	url := "pkg:golang/" + module + "@" + version
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: module, Version: version, PackageURL: url}
}

// moduleOfAuthorities returns the module that publicAuthorities takes the certificates from. It is nil in a test's
// binary, which knows no modules.
func moduleOfAuthorities() *debug.Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, module := range info.Deps {
		if module.Path == "golang.org/x/crypto/x509roots/fallback" {
			return module
		}
	}
	return nil
}

func encode(to io.Writer, bill *cyclonedx.BOM) error {
	encoder := cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	return encoder.Encode(bill)
}
