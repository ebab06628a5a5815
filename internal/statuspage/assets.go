package statuspage

import (
	"embed"
	"net/http"
)

//go:embed assets
var assets embed.FS

// assetNames are the files that pages load.
var assetNames = []string{"style.css", "script.js", "icon.svg"}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, "assets"+r.URL.Path)
}
