"""What tests of io table share."""

TABLE = """id,label,flux,flux_err,colour,colour_err1,colour_err2,name,size,size_var
a,star,1.5,0.5,2,0.25,-0.75,x,1,4
b,quasar,2.5,0.25,3,1,-1,y,2,9
"""
