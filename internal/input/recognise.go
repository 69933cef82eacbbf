package input

import (
	"bytes"
	"encoding/binary"
)

// Recognise finds the kind of a file from its first decoded bytes. Marks that
// cannot be mistaken are tried first, guesses at text last.
func Recognise(head []byte) Kind {
	if k := byMagic(head); k != Unknown {
		return k
	}
	if isPickle(head) {
		return Pickle
	}
	switch k := byJSON(head); {
	case k == JSON && statsKey.Match(head):
		return StatsJSONL
	case k == JSON && isLogJSON(head):
		return TrainingLog
	case k != Unknown:
		return k
	}
	if isText(head) {
		return byText(head)
	}
	return Unknown
}

// magics are the marks of binary formats, from each format's specification.
var magics = []struct {
	at    int
	bytes string
	kind  Kind
}{
	// torch.serialization.MAGIC_NUMBER as the first of several pickles of protocol 2.
	{0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", LegacyCheckpoint},
	{0, "PK\x05\x06", Zip}, // without members
	{0, "\x7fELF", ELF},
	{0, "\x89PNG\r\n\x1a\n", PNG},
	{0, "\xff\xd8\xff", JPEG},
	{0, "%PDF-", PDF},
	{0, "PAR1", Parquet},
	{0, "SQLite format 3\x00", SQLite},
	{0, "\x93NUMPY", NumPy},
	{0, "\x89HDF\r\n\x1a\n", HDF5},
	{0, "GGUF", GGUF},
	{0, "\xfd7zXZ\x00", XZ},
	{0, "\x04\x22\x4d\x18", LZ4},
	{0, "7z\xbc\xaf\x27\x1c", SevenZip},
	{0, "Rar!\x1a\x07", RAR},
	{257, "ustar", Tar},
}

func byMagic(head []byte) Kind {
	for _, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.bytes)) {
			return m.kind
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipKind(head)
	case isSafetensors(head):
		return Safetensors
	case len(head) >= 16 && len(bytes.Trim(head, "\x00")) == 0:
		return Zeros
	}
	return Unknown
}

// zipKind looks at the name of the first member: torch.save writes DIR/data.pkl
// first (or, lately, a marker of the format), numpy.savez writes NAME.npy.
func zipKind(head []byte) Kind {
	const nameAt = 30 // APPNOTE.TXT, section 4.3.7
	if len(head) < nameAt {
		return Zip
	}
	size := int(binary.LittleEndian.Uint16(head[26:]))
	name := head[nameAt:min(nameAt+size, len(head))]
	switch {
	case bytes.HasSuffix(name, []byte(".npy")):
		return NumPyZip
	case bytes.HasSuffix(name, []byte("/data.pkl")), bytes.Contains(head, []byte("/data.pkl")):
		return Checkpoint
	}
	return Zip
}

// isSafetensors checks for the length of a JSON header and its start.
func isSafetensors(head []byte) bool {
	const longest = 100 << 20 // the limit of the safetensors library
	if len(head) < 10 || head[8] != '{' || head[9] != '"' && head[9] != '}' {
		return false
	}
	size := binary.LittleEndian.Uint64(head)
	return size >= 2 && size <= longest
}
