RECORDS = "evidence.jsonl"


def write(output, found, quick):
    return output
