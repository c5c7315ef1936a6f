"""x"""

SETS = (
    "3droad_first5000",
    "tamilelectric",
    "bike",
    "BNG_echoMonths",
    "537_houses",
    "BNG_lowbwt",
    "215_2dplanes",
    "344_mv",
    "564_fried",
    "protein",
    "kegg_directed",
    "BNG_breastTumor",
    "BNG_pwLinear",
    "airline_nyc2013",
    "sgemmProd",
)


def cell_name(name, library):
    return f"{name} | {library}"


def show(results):
    return ""
