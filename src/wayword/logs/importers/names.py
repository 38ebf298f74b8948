"""The usual names of columns, in several languages, without case, accents, spaces and signs."""

import re
import unicodedata

ROLES: dict[str, tuple[str, str]] = {
    "query": (
        "query searchterm searchterms searchquery searchstring searchtext searchphrase searchkeyword "
        "searchkeywords "
        "searchword querytext querystring userquery searchedterm searchedquery suchbegriff suchbegriffe "
        "suchanfrage "
        "suchwort suchtext suchphrase suchstring queryexpression termederecherche termerecherche requete "
        "requetederecherche motcle motscles motclerecherche consulta busqueda textodebusqueda "
        "terminodebusqueda "
        "terminobuscado palabraclave zoekterm zoekopdracht zoekwoord trefwoord terminediricerca "
        "terminericercato ricerca "
        "parolachiave fraza frazawyszukiwania zapytanie szukanafraza termodepesquisa termodebusca pesquisa "
        "busca "
        "palavrachave sokord sokfras sokterm soketerm sogeord sogefrase hakusana hledanyvyraz "
        "vyhledavanyvyraz dotaz "
        "keresoszo aramaterimi запрос поисковыйзапрос поискзапрос 検索語 検索キーワード 検索クエリ キーワード クエリ "
        "搜索词 关键词 查询 검색어",
        "q keyword keywords term terms phrase search suche recherche text stichwort searchurl",
    ),
    "document": (
        "document documentid docid targeturl resulturl documenturl producturl itemurl itemid productid sku "
        "asin articleid objectid clickeddocument clickedid clickeditem "
        "clickedproduct clickedsku productsku itemsku listingid resultid contentid entityid documentuid "
        "artikelnummer "
        "artikelnr artnr artikelid produktid produktnummer produktnr referenceproduit refproduit idproduit "
        "codeproduit "
        "codearticle referencearticle codigodeproducto codigoproducto idproducto referenciaproducto "
        "idarticulo "
        "codicearticolo codiceprodotto idprodotto artikelcode productcode productnumber productnummer "
        "itemnumber "
        "articlenumber codigodoproduto codigoproduto idproduto kodproduktu idproduktu indeks cisloproduktu "
        "商品コード "
        "商品番号 商品id 商品编号 артикул",
        "doc item product article pid artikel produkt produit result url clickurl clickedurl target gtin ean "
        "isbn "
        "producto articulo prodotto articolo produto товар 商品 상품",
    ),
    "rank": (
        "rank position clickrank clickposition clickedposition clickedrank itemrank resultposition resultrank"
        " "
        "itemposition productposition serpposition listposition klickposition trefferposition suchposition "
        "listenposition positionduclic positionclic rangduclic posiciondelclic posicionclic posizione "
        "posizioneclic "
        "positie klikpositie posicion posicao pozycja pozycjaklikniecia pozice позиция 順位 表示順位 位置 排名 순위",
        "pos index ordinal slot place platz rang rangfolge itemindex placering sija",
    ),
    "search_id": (
        "searchid queryid searchqueryid searchuid searchqueryuid queryuid qid searchrequestid serpid suchid "
        "suchvorgang suchvorgangid anfrageid idrecherche idbusqueda",
        "requestid",
    ),
    "session": (
        "sessionid session sitzung sitzungsid idsession idsesion sesion sessione idsessione sessie sessieid "
        "sesja "
        "idsesji sessao idsessao сессия セッション セッションid 会话",
        "sid visitid visit sessid besuch besuchid visite",
    ),
    "user": (
        "user userid visitorid clientid customerid anonid usertoken userpseudoid memberid shopperid "
        "anonymousid "
        "customerno customernumber customernr kundennummer kundennr kundenid kunde besucherid besucher "
        "benutzer "
        "benutzerid nutzer nutzerid idclient client idutilisateur utilisateur visiteur idcliente cliente "
        "usuario "
        "idusuario utente idutente klant klantnummer klantid gebruiker gebruikerid bezoeker klient idklienta "
        "uzytkownik "
        "kund kundnummer anvandare zakaznik пользователь клиент ユーザー ユーザーid 会員id 用户 用户id",
        "uid visitor customer cookie cookieid deviceid account accountid",
    ),
    "time": (
        "time timestamp datetime eventtime eventtimestamp clicktime querytime searchtime servertime "
        "servertimestamp "
        "occurredat createdat clickedat searchedat loggedat zeitstempel zeitpunkt datumuhrzeit suchzeit "
        "klickzeit "
        "horodatage dateheure dateetheure fechahora fechayhora dataora dataeora datumtijd datumentijd "
        "tijdstip tijdstempel datahora dataegodzina tidspunkt tidsstampel время датавремя 日時 "
        "タイムスタンプ 时间 시간",
        "ts date zeit datum when created day fecha data dato heure hora tijd czas tid дата 日付 日期",
    ),
    "prefix": ("prefix typedprefix typedtext", "typed"),
    "weight": ("weight", "gewicht"),
    "clicked": (
        "clicked isclicked isclick wasclicked geklickt angeklickt clique cliccato geklikt klikniete clicado",
        "click klick clic klik",
    ),
    "action": (
        "action eventtype eventname actiontype actionname interaction interactiontype aktion ereignis "
        "ereignistyp "
        "evenement evento azione actie akcja",
        "event type",
    ),
    "results": ("", ""),
    "clock": ("uhrzeit timeofday clocktime godzina klokkeslett", "clock"),
}
"""The usual names of each column; the second ones count where there is none of the first. `clock` is the time of day
beside a date; `results`, a list of what a search returned, has no usual name, because such a column may be a count."""
PARTS = {
    "query": r"(such|search|zoek|sok|recherch|busca|busqued|ricerc|pesquis|szuk|quer|klick).*"
    r"(begriff|wort|text|string|phrase|term|keyword|query|anfrage|eingabe)|(keyword|query|suchbegriff)s?$",
    "document": r"(artikel|article|articul|articol|produ[ckit]+|prodott|item|sku|document|treffer|listing|asset).*"
    r"(id|nr|nummer|no|number|code|kod|ref|referenz|key|schluessel|sku)$|^(id|nr|no|code|ref)(artikel|article|produ[ckt]|"
    r"item|document)|(klick|click).*(artikel|article|produ[ck]t|item|doc|result|sku|id$)",
    "rank": r"(position|rank|pozyc|posici|posizion|positie|rang)|(click|klick|clicked)pos$",
    "search_id": r"(search|such|query|anfrage).*(id|uuid|guid)$",
    "session": r"(session|sitzung|sesion|sesja)",
    "user": r"(user|kunde|kunden|customer|visitor|besucher|client|cliente|klant|member|shopper|nutzer|account)"
    r".*(id|nr|nummer|no|number|hash|key|uuid|guid)",
    "time": r"(timestamp|zeitstempel|datetime|zeitpunkt)|(event|click|klick|search|such|log|created|occurred)"
    r"(time|date|zeit|datum|at|on)$",
}
"""Parts of names by which columns are taken where none has a usual name."""
_OTHER = (
    r"(name|title|titel|bezeichnung|price|preis|count|anzahl|number of|total|summe|normal|length|laenge|lange|language|"
    r"category|kategorie|brand|marke|page|seite|type$|typ$|score|email|ip)"
)
"""Parts of names of columns that describe something else."""
_CONTEXTS = (
    "device devicetype devicecategory platform locale language lang country region market site shop store storeid "
    "channel gerat geratetyp endgerat plattform sprache land filiale kanal markt appareil langue pays boutique "
    "canal dispositivo idioma pais tienda lingua paese negozio apparaat taal winkel kanaal urzadzenie jezyk kraj sklep"
)
CONTEXTS = frozenset(_CONTEXTS.split())
"""Columns that are context by their name: known before people type."""


def simple(name: str) -> str:
    """A name without case, accents and signs; of a nested field, its last part.

    >>> simple("Search Term"), simple("_source.event.Product-ID"), simple("Gerät"), simple("Réf. produit")
    ('searchterm', 'productid', 'gerat', 'refproduit')
    """
    last = name.rpartition(".")[2] if " " not in name else ""
    last = last if last.strip(")]") else name
    plain = (unicodedata.normalize("NFKD", letter)[0] for letter in last.casefold())
    return "".join(
        folded if folded.isascii() else letter
        for folded, letter in zip(plain, last.casefold(), strict=True)
        if letter.isalnum()
    )


def forms(name: str) -> tuple[str, str]:
    """The last part of a name, and of a nested field its last two.

    >>> forms("click.product.id"), forms("Product ID")
    (('id', 'productid'), ('productid', 'productid'))
    """
    return simple(name), simple("".join(name.split(".")[-2:])) if " " not in name else simple(name)


def has_part(name: str, role: str) -> bool:
    """Whether a part of a name says what the column is.

    >>> has_part("Klickposition in Liste", "rank"), has_part("Position (Seite)", "rank")
    (True, False)
    """
    plain = simple(name)
    return role in PARTS and bool(re.search(PARTS[role], plain)) and not re.search(_OTHER, plain)


def means_place(name: str) -> bool:
    """Whether a column tells the page of a result.

    >>> means_place("Seite"), means_place("page_number"), means_place("landing page")
    (True, True, False)
    """
    return simple(name) in {
        "page",
        "seite",
        "pagenumber",
        "pageno",
        "seitennummer",
        "resultpage",
        "ergebnisseite",
        "pagina",
        "strona",
        "pageindex",
        "trefferseite",
    }
