package embedding

// isForeign reports whether a word in lower case is a frequent one of another
// European language and no English word worth mentioning. Of two or three such
// words even a short sentence is told. The lists need not be complete: most
// words of these languages are missing from the vocabulary as well.
func isForeign(word string) bool {
	switch word {
	case // German
		"aber", "als", "auch", "auf", "aus", "bei", "beim", "bis", "bist", "das", "dass", "dein",
		"deine", "deinen", "deiner", "dem", "denn", "der", "des", "dich", "dir", "dort", "du",
		"durch", "ein", "eine", "einem", "einen", "einer", "eines", "er", "es", "euch", "für",
		"gegen", "habe", "haben", "hast", "hatte", "hatten", "heißt", "hier", "ich", "ihm", "ihn",
		"ihnen", "ihr", "ihre", "ihren", "ihrer", "ist", "jede", "jeden", "jeder", "kann", "kannst",
		"kein", "keine", "keinen", "mehr", "mein", "meine", "meinem", "meinen", "meiner", "mich",
		"mir", "mit", "muss", "nach", "nicht", "noch", "nur", "ob", "oder", "ohne", "schon", "sehr",
		"seid", "sein", "seine", "seinen", "seiner", "seit", "sie", "sind", "soll", "und",
		"uns", "unser", "unsere", "unseren", "unserer", "unter", "vom", "von", "vor", "wann",
		"waren", "warum", "weil", "welche", "welchen", "welcher", "welches", "wem", "wen", "wenn",
		"wer", "werden", "wie", "wieso", "wir", "wird", "wo", "wurde", "wurden", "zu", "zum", "zur",
		"über":
		return true
	case // French
		"au", "aussi", "aux", "avec", "avez", "avoir", "avons", "ce", "ces", "cet", "cette",
		"chaque", "chez", "combien", "dans", "de", "depuis", "donc", "elle", "elles", "est", "et",
		"il", "ils", "je", "la", "le", "les", "leur", "leurs", "mais", "mes", "ne", "nos", "notre",
		"nous", "ont", "où", "pas", "pourquoi", "quand", "que", "quel", "quelle",
		"quelles", "quels", "qui", "quoi", "sa", "sans", "ses", "sont", "sous", "suis", "sur", "ta",
		"tes", "très", "tu", "un", "une", "vos", "votre", "vous", "étaient", "était", "être":
		return true
	case // Spanish
		"cada", "como", "cual", "cuando", "cuál", "cuáles", "cuándo", "cuánto", "cómo", "del",
		"desde", "donde", "dónde", "el", "ella", "ellas", "ellos", "en", "eres", "esa", "ese",
		"esta", "este", "estoy", "está", "están", "fue", "hace", "hasta", "las", "lo", "los",
		"mi", "mis", "muy", "más", "nosotros", "nuestra", "nuestro", "nuestros", "para", "pero",
		"por", "porque", "quien", "quién", "qué", "se", "sobre", "soy", "su", "sus",
		"también", "tenemos", "tengo", "tiene", "tienes", "todas", "todos", "tus", "una", "unas",
		"uno", "unos", "ya", "yo", "él":
		return true
	case // Italian
		"abbiamo", "alla", "anche", "che", "chi", "cosa", "dal", "dalla", "degli", "dei", "della",
		"delle", "dello", "di", "gli", "hai", "hanno", "ho", "io", "lei", "loro",
		"lui", "mia", "mie", "miei", "mio", "molto", "nel", "nella", "noi", "non", "nostra",
		"nostro", "ogni", "perché", "più", "quale", "quali", "questa", "questo", "sono", "sua",
		"suo", "tra", "tua", "tuo", "voi":
		return true
	case // Portuguese
		"da", "dos", "ela", "ele", "em", "estou", "eu", "foi", "meu", "meus", "minha",
		"minhas", "muito", "nas", "nossa", "nosso", "não", "nós", "onde", "os", "pela", "pelo",
		"quais", "qual", "quem", "seu", "são", "tem", "tenho", "uma", "você":
		return true
	case // Dutch
		"aan", "bij", "dat", "deze", "een", "elke", "geen", "heb", "hebben", "heeft",
		"het", "hij", "hoe", "ik", "jij", "jouw", "jullie", "maar", "mijn", "naar",
		"niet", "ons", "onze", "ook", "uit", "uw", "voor", "waar", "waarom",
		"wanneer", "wat", "welke", "werd", "wij", "zij", "zijn":
		return true
	case // Scandinavian
		"att", "av", "det", "efter", "ett", "för", "hos", "hva", "hvad", "hvem", "hvor",
		"hvornår", "ikke", "inte", "jag", "jeg", "mitt", "när", "når", "och", "og", "på",
		"som", "til", "vad", "är":
		return true
	case // Polish
		"był", "była", "czy", "dla", "gdzie", "jak", "jaka", "jaki", "jakie", "jest", "kiedy",
		"kto", "moim", "moja", "moje", "mój", "nie", "od", "się", "są", "że":
		return true
	case // Others
		"adalah", "aku", "apa", "bir", "bu", "dengan", "egy", "ei", "hogy", "ile", "ini",
		"itu", "için", "ja", "jsem", "kapan", "nem", "nerede", "saya", "siapa", "tidak",
		"untuk", "yang", "és":
		return true
	}
	return false
}

// isParticle reports whether a foreign word often begins a name that English
// texts use as well, such as Los Angeles.
func isParticle(word string) bool {
	switch word {
	case "au", "da", "das", "de", "dei", "del", "der", "des", "di", "dos", "du", "el", "il", "la", "las", "le",
		"les", "lo", "los", "nos", "os", "sa", "su", "un", "una", "uno", "von":
		return true
	}
	return false
}

// isShared reports whether an English word is as frequent in another language,
// so that it tells nothing.
func isShared(word string) bool {
	switch word {
	case "ai", "also", "am", "an", "arm", "as", "band", "bin", "co", "comment", "con", "dan", "den", "die", "dove", "era",
		"fast", "fra", "gut", "had", "hat", "hay", "her", "hun", "im", "in", "kind", "ma", "mag", "man", "me", "met",
		"mine", "mon", "na", "no", "on", "par", "per", "pour", "rot", "sin", "so", "son", "te", "ten", "ton", "um",
		"van", "var", "vi", "war", "was":
		return true
	}
	return false
}
