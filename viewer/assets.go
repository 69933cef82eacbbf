package viewer

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
	"sync"
)

//go:embed assets/echarts/echarts.min.js
var echartsJS string

//go:embed assets/report.css
var reportCSS string

//go:embed assets/js/*.js
var jsFiles embed.FS

// scripts are our own, in the order in which they are joined. main comes last:
// it starts the others.
var scripts = []string{"base", "theme", "tabs", "table", "chart", "curve", "growth", "flame", "segmap", "ranks", "main"}

// reportJS is our scripts as one, closed in a function.
var reportJS = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("(function () {\n\"use strict\";\n")
	for _, name := range scripts {
		src, err := jsFiles.ReadFile("assets/js/" + name + ".js")
		if err != nil {
			panic("viewer: embedded script is missing: " + err.Error())
		}
		b.Write(src)
	}
	b.WriteString("})();\n")
	return b.String()
})

// policy is the Content-Security-Policy of a report: nothing may be fetched,
// and only the three scripts written here may run.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; script-src '" + scriptHash(bootJS) + "' '" + scriptHash(echartsJS) + "' '" + scriptHash(reportJS()) +
		"'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
})

func scriptHash(src string) string {
	sum := sha256.Sum256([]byte(src))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
